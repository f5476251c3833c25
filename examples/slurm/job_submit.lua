-- Hands the jobs of some partitions or QOS to `transom slurm run --mode drive --no-holds`. For slurm.conf:
--   JobSubmitPlugins=lua
-- This file lies beside slurm.conf as job_submit.lua; after a change: scontrol reconfigure.
--
-- No job is held. Each gets a begin time some minutes ahead, and a word in its comment that tells it from a begin time
-- of its user. The run moves that time on, or starts the job. Where it does not run, was never started or cannot reach
-- the controller, Slurm itself starts the job when the time has come.

local LEASE = 600 -- seconds that a job waits for a run to find it
local PARTITIONS = { main = true }
local QOS = {} -- such as { driven = true }
local WORD = "transom"

local function default_partition(partitions)
    for name, partition in pairs(partitions) do
        if partition.flag_default == 1 then
            return name
        end
    end
    return nil
end

function slurm_job_submit(job, partitions, uid)
    local partition = job.partition or default_partition(partitions)
    if not (PARTITIONS[partition or ""] or QOS[job.qos or ""]) then
        return slurm.SUCCESS
    end
    if job.script == nil then -- somebody sits and waits for it: salloc, srun
        return slurm.SUCCESS
    end
    -- A hold and a begin time of its user's own are kept: --begin=now is the way past Transom.
    if job.priority == 0 or (job.begin_time or 0) ~= 0 then
        return slurm.SUCCESS
    end
    job.begin_time = os.time() + LEASE
    if job.comment == nil or job.comment == "" then
        job.comment = WORD
    else
        job.comment = WORD .. " " .. job.comment
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
