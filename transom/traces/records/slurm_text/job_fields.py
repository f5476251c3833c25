"""The fields of a job, and what each source and version of Slurm calls them."""

from __future__ import annotations

from typing import NamedTuple


class Names(NamedTuple):
    """What a field is called, in the order in which names count.

    Parameters
    ----------
    headers : of the tables of ``sacct`` and ``squeue -o``, without case, blanks and underscores.
    keys : of ``scontrol show job``, then of jobcomp's file.
    places : in JSON, those within an object behind its name and a dot: of ``sacct``, then of ``squeue`` and
        ``scontrol``, by versions.
    asked : of ``squeue -O``.
    """

    headers: tuple[str, ...]
    keys: tuple[str, ...]
    places: tuple[str, ...]
    asked: str


def _names(headers: str = "", keys: str = "", places: str = "", asked: str = "") -> Names:
    return Names(tuple(headers.split()), tuple(keys.split()), tuple(places.split()), asked)


RECORDED = {
    "job": _names("jobid id", asked="JobArrayId"),
    "raw": _names("jobidraw", "JobId", "job_id", "JobId"),
    "array_job": _names("arrayjobid", "ArrayJobId", "array.job_id array_job_id", "ArrayJobId"),
    "array_task": _names("arraytaskid", "ArrayTaskId", "array.task_id array_task_id", "ArrayTaskId"),
    "array_tasks": _names(places="array.task array_task_string"),
    "het_job": _names("hetjobid", "HetJobId", "het.job_id het_job_id", "HetJobId"),
    "submit": _names("submit submittime", "SubmitTime", "time.submission submit_time", "SubmitTime"),
    "eligible": _names("eligible eligibletime", "EligibleTime", "time.eligible eligible_time", "EligibleTime"),
    "start": _names("start starttime", "StartTime", "time.start start_time", "StartTime"),
    "end": _names("end endtime", "EndTime", "time.end end_time", "EndTime"),
    "elapsed": _names("elapsed time timeused runtime", "RunTime"),
    "elapsed_raw": _names("elapsedraw", places="time.elapsed"),
    "suspended": _names("suspended", places="time.suspended"),
    "last_suspended": _names(keys="SuspendTime"),
    "before": _names(keys="SecsPreSuspend"),
    "limit": _names("timelimit", "TimeLimit", asked="TimeLimit"),
    "limit_raw": _names("timelimitraw", places="time.limit time_limit"),
    "nnodes": _names("nnodes nodes numnodes nodecnt", "NumNodes NodeCnt", "node_count", "NumNodes"),
    "alloc_nodes": _names("allocnodes", places="allocation_nodes job_resources.allocated_hosts"),
    "req_nodes": _names("reqnodes minnodes"),
    "ncpus": _names(
        "ncpus cpus numcpus proccnt",
        "NumCPUs ProcCnt",
        "cpus job_resources.allocated_cpus job_resources.allocated_cores",
        "NumCPUs",
    ),
    "alloc_cpus": _names("alloccpus"),
    "req_cpus": _names("reqcpus", places="required.CPUs"),
    "alloc_tres": _names("alloctres tresalloc tres", "AllocTRES TRES Tres", "tres.allocated tres_alloc_str"),
    "req_tres": _names("reqtres", "ReqTRES", "tres.requested tres_req_str", "tres-alloc"),
    "gres": _names("allocgres", "JOB_GRES"),
    "req_gres": _names("reqgres"),
    "node_gres": _names("gres trespernode", "TresPerNode Gres", "tres_per_node", "tres-per-node"),
    "job_gres": _names("tresperjob", "TresPerJob", "tres_per_job", "tres-per-job"),
    "socket_gres": _names("trespersocket", "TresPerSocket", "tres_per_socket", "tres-per-socket"),
    "task_gres": _names("trespertask", "TresPerTask", "tres_per_task", "tres-per-task"),
    "tasks": _names("tasks numtasks", "NumTasks", "tasks"),
    "sockets_per_node": _names("socketspernode socks/node", "Socks/Node", "sockets_per_node"),
    "req_mem": _names("reqmem"),
    "memory_node": _names(keys="MinMemoryNode", places="required.memory_per_node memory_per_node", asked="MinMemory"),
    "memory_core": _names(keys="MinMemoryCPU", places="required.memory_per_cpu memory_per_cpu"),
    "memory": _names(places="required.memory"),
    "partition": _names("partition queue", "Partition", "partition", "Partition"),
    "qos": _names("qos", "QOS", "qos"),
    "account": _names("account", "Account", "account association.account"),
    "owner": _names(keys="UserId"),
    "user": _names("user username", places="user user_name association.user", asked="UserName"),
    "uid": _names("uid userid", places="user_id", asked="UserId"),
    "group": _names("group groupname", "GroupId", "group group_name"),
    "state": _names("state statecompact st jobstate", "JobState", asked="State"),
    "name": _names("jobname name", places="name"),
    "nodes": _names("nodelist nodelist(reason)", "NodeList", "nodes job_resources.nodes", "NodeList"),
    "req_node_list": _names("reqnodelist req_nodes", "ReqNodeList", "required_nodes", "ReqNodes"),
    "reservation": _names(
        "reservation reservationname", "Reservation ReservationName", "reservation.name resv_name", "Reservation"
    ),
    "dependency": _names("dependency", "Dependency", "dependency", "Dependency"),
    "restarts": _names("restarts restartcnt", "Restarts", "restart_cnt"),
    "priority": _names("priority prioritylong", "Priority", "priority", "PriorityLong"),
    "cluster": _names("cluster", "Cluster", "cluster"),
}
"""What traces are made of."""

WAITING = {
    "max_nodes": _names(places="max_nodes", asked="MaxNodes"),
    "reason": _names(keys="Reason", places="state_reason", asked="Reason"),
    "features": _names(keys="Features", places="features", asked="Feature"),
    "licences": _names(keys="Licenses", places="licenses", asked="Licenses"),
    "sharing": _names(keys="OverSubscribe", asked="OverSubscribe"),
    "contiguous": _names(keys="Contiguous", asked="Contiguous"),
    "switches": _names(keys="Switches", places="required_switches minimum_switches", asked="ReqSwitch"),
    "excluded": _names(keys="ExcNodeList", places="excluded_nodes"),
    "planned": _names(keys="SchedNodeList", places="scheduled_nodes", asked="SchedNodes"),
    "looked": _names(keys="LastSchedEval", places="last_sched_evaluation"),
    "comment": _names(keys="Comment", places="comment"),
}
"""What else counts as long as a job waits or runs."""
