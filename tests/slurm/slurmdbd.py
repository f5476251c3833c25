"""slurmdbd and its MariaDB for an emulated Slurm, so that ``sacct`` and ``sacctmgr`` answer."""

from __future__ import annotations

from pathlib import Path

from tests.slurm.release import Release

PROGRAMS = ("slurmdbd", "mariadbd", "mariadb-install-db", "sacct", "sacctmgr")


def missing(release: Release) -> str | None:
    """Why there can be no accounting, or None."""
    absent = [name for name in PROGRAMS if release.program(name) is None]
    if absent:
        return f"accounting needs {', '.join(absent)}{release.where}"
    # The data base listens where slurmdbd looks for it, in a folder that only a root has for itself.
    return None if release.root else "accounting needs Slurm in a root of its own"


def settings(port: int, munge: Path) -> dict[str, str]:
    """Lines of ``slurm.conf``."""
    return {
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": "127.0.0.1",
        "AccountingStoragePort": str(port),
        "AccountingStoragePass": str(munge),
    }


def write_conf(folder: Path, port: int, munge: Path) -> None:
    """Write ``slurmdbd.conf``."""
    lines = {
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={munge}",
        "DbdHost": "localhost",
        "DbdAddr": "127.0.0.1",
        "DbdPort": str(port),
        "SlurmUser": "root",
        "StorageType": "accounting_storage/mysql",
        "StorageUser": "root",
        "LogFile": str(folder / "slurmdbd.log"),
        "PidFile": str(folder / "slurmdbd.pid"),
    }
    conf = folder / "slurmdbd.conf"
    conf.touch(0o600)
    conf.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))


def script(folder: Path, release: Release, port: int) -> str:
    """Shell commands that start both, and wait until slurmdbd listens; ``daemon`` starts a daemon in the root."""
    data = folder / "mariadb"
    return f"""
mkdir {folder}/mysqld {data}
mkdir -p {release.root}/run/mysqld
mount --bind {folder}/mysqld {release.root}/run/mysqld
{release.inside} mariadb-install-db --no-defaults --datadir={data} --user=root --skip-test-db --skip-name-resolve \\
    --auth-root-authentication-method=socket >/dev/null 2>>{folder}/errors.log </dev/null
daemon mariadbd mariadbd --no-defaults --datadir={data} --user=root --skip-networking --skip-log-bin \\
    --socket=/run/mysqld/mysqld.sock --pid-file={folder}/mariadbd.pid --log-error={folder}/mariadbd.log
until [ -S {folder}/mysqld/mysqld.sock ]; do
    read -rt 0.05
    [ $? -gt 128 ] && [ ! -e {folder}/ended ] || exit 1
done
daemon slurmdbd slurmdbd -D
until (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; do
    read -rt 0.05
    [ $? -gt 128 ] && [ ! -e {folder}/ended ] || exit 1
done
"""
