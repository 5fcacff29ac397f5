#!/usr/bin/env python3
"""A real Slurm on this machine, for tests: one controller and a few nodes, gone when the test ends.

Everything lies in one temporary folder; nothing of `/etc/slurm` or `/etc/munge` is read. Needs the
programs of the Debian packages `slurmctld`, `slurmd` and `slurm-client`, and `munge` unless `auth` is
"none"; no systemd, no database. As another user than root it runs that user's jobs.

    with Cluster() as cluster:
        subprocess.run(["sbatch", "--wrap", "hostname"], env=cluster.env)

Or by hand, until Ctrl-C:

    python3 tests/slurm/cluster.py [--nodes 2] [--cpus 4]
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

PACKAGES = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
    "munged": "munge",
}

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}({address})
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/{auth}
AuthInfo={socket}cred_expire=5
CredType=cred/{auth}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobs.txt
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
DefMemPerCPU=64
EnforcePartLimits=ALL
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=10000,bf_interval=1
MinJobAge={min_job_age}
MaxJobCount=20000
MaxArraySize=10001
KillWait={kill_wait}
SlurmdTimeout=10
SlurmctldTimeout=10
MessageTimeout=10
InactiveLimit=0
CompleteWait=0
BatchStartTimeout=10
UnkillableStepTimeout=20
PriorityType=priority/basic
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=60 PriorityTier=2 PreemptMode=REQUEUE State=UP
PartitionName=scav Nodes=ALL Default=NO MaxTime=INFINITE DefaultTime=60 PriorityTier=1 PreemptMode=CANCEL State=UP
PartitionName=high Nodes=ALL Default=NO MaxTime=INFINITE DefaultTime=60 PriorityTier=10 PreemptMode=OFF State=UP
"""


class ClusterError(Exception):
    """The cluster can't do what is asked, and why."""


def missing_packages(auth: str = "munge") -> list[str]:
    """Returns what must be installed before a cluster can be started."""
    needed = {program: package for program, package in PACKAGES.items() if auth == "munge" or package != "munge"}
    return [package for program, package in needed.items() if shutil.which(program, path=search_path()) is None]


def search_path() -> str:
    """Daemons are in folders that are not on every user's path."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def until(what: str, seconds: float, holds: Callable[[], object], pause: float = 0.1) -> None:
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise ClusterError(f"{what}: not within {seconds:g} s")
        time.sleep(pause)


def free_ports(count: int) -> list[int]:
    """Returns ports that nobody listens on just now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Cluster:
    """A controller, its nodes and their partitions: `main` and `scav`, which make room for `high`.

    A job of `main` that makes room returns to the queue, one of `scav` is ended.
    """

    def __init__(
        self,
        *,
        nodes: int = 2,
        cpus: int = 4,
        memory: int = 8000,
        port: int = 0,
        auth: str = "munge",
        min_job_age: int = 300,
        kill_wait: int = 2,
    ) -> None:
        """`memory` is MiB per node; `port` is the first of `nodes + 1` ports, or 0 for any free ones."""
        self.names = [f"n{number}" for number in range(1, nodes + 1)]
        self.settings = {"auth": auth, "min_job_age": min_job_age, "kill_wait": kill_wait}
        self.size = (cpus, memory)
        self.port = port
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Cluster:
        missing = missing_packages(self.settings["auth"])
        if missing:
            packages = " ".join(missing)
            raise ClusterError(f"Slurm is not installed: apt-get install --no-install-recommends {packages}")
        # Short, for sockets below it: their paths have at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
        try:
            self.write_configuration()
            self.start()
        except BaseException as error:
            self.stop()
            if isinstance(error, ClusterError):
                raise ClusterError(f"{error}{self.last_words()}") from error
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def write_configuration(self) -> None:
        """Writes slurm.conf, which daemons and clients read."""
        self.folder.chmod(0o755)
        for name in ["state", "log", "munge", *(f"spool/{name}" for name in self.names)]:
            (self.folder / name).mkdir(parents=True)
        host, address, self.is_renamed = loopback_host()
        first, *ports = range(self.port, self.port + 1 + len(self.names)) if self.port else free_ports(1 + len(self.names))
        cpus, memory = self.size
        nodes = [
            f"NodeName={name} NodeHostname={name} NodeAddr={address} Port={port} CPUs={cpus} RealMemory={memory}"
            for name, port in zip(self.names, ports)
        ]
        is_munge = self.settings["auth"] == "munge"
        text = CONFIGURATION.format(
            host=host, address=address, port=first, user=getpass.getuser(), folder=self.folder,
            socket=f"socket={self.munge_socket}," if is_munge else "", nodes="\n".join(nodes), **self.settings,
        )
        self.configuration.write_text(text)

    @property
    def configuration(self) -> Path:
        return self.folder / "slurm.conf"

    @property
    def munge_socket(self) -> Path:
        return self.folder / "munge/socket"

    @property
    def env(self) -> dict[str, str]:
        """The environment of a program that is to use this cluster."""
        of_jobs = ("SLURM_", "SBATCH_", "SQUEUE_", "SACCT_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(of_jobs)}
        return {**kept, "PATH": search_path(), "SLURM_CONF": str(self.configuration)}

    def call(self, *command: str, seconds: float = 60) -> str:
        """Runs a program of Slurm; returns what it prints."""
        done = subprocess.run(
            command, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False
        )
        if done.returncode != 0:
            raise ClusterError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    def start(self) -> None:
        if self.settings["auth"] == "munge":
            self.start_munge()
        self.daemon("slurmctld", "slurmctld", "-D", "-c")
        for name in self.names:
            self.start_node(name)
        until("all nodes are idle", 30, lambda: self.is_up("slurmctld") and self.is_idle())

    def start_munge(self) -> None:
        key = self.folder / "munge/key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        options = {
            "socket": self.munge_socket, "key-file": key, "num-threads": 2, "seed-file": self.folder / "munge/seed",
            "log-file": self.folder / "log/munged.log", "pid-file": self.folder / "munge/pid",
        }
        self.daemon("munged", "munged", "--foreground", *(f"--{name}={value}" for name, value in options.items()))
        until("munged listens", 10, lambda: self.is_up("munged") and self.munge_socket.exists(), 0.02)

    def daemon(self, name: str, *command: str) -> None:
        """Starts a daemon in the foreground, so that its process is known."""
        rename = ["unshare", "--uts", "sh", "-c", 'hostname localhost && exec "$0" "$@"'] if self.is_renamed else []
        with (self.folder / f"log/{name}.out").open("ab") as output:
            self.daemons[name] = subprocess.Popen(
                [*rename, *command], env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
            )

    def is_up(self, name: str) -> bool:
        """Returns whether a daemon lives; one that has ended by itself is an error."""
        if self.daemons[name].poll() is not None:
            raise ClusterError(f"{name} ended with code {self.daemons[name].returncode}")
        return True

    def node_states(self) -> dict[str, str]:
        lines = self.call("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T").splitlines()
        return dict(line.split(maxsplit=1) for line in lines)

    def is_idle(self) -> bool:
        try:
            states = self.node_states()
        except ClusterError:
            return False
        return len(states) == len(self.names) and set(states.values()) == {"idle"}

    def stop(self) -> None:
        """Ends jobs first, so that none of their processes outlives the cluster."""
        controller = self.daemons.get("slurmctld")
        if controller and controller.poll() is None:
            with contextlib.suppress(ClusterError, subprocess.TimeoutExpired):
                self.clear(seconds=5)
        # The controller first: it would wait for nodes that do not answer any more.
        for name in sorted(self.daemons, key=lambda name: (name == "munged", name != "slurmctld")):
            self.end(name, signal.SIGTERM, patience=3)
        for name in self.names:
            self.kill_jobs(name)

    def end(self, name: str, number: int, patience: float = 15) -> None:
        process = self.daemons.pop(name, None)
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def last_words(self) -> str:
        """Returns what the daemons complained of."""
        lines = []
        for log in sorted((self.folder / "log").glob("*.log")):
            said = log.read_text(errors="replace").splitlines()
            lines += [f"\n  {log.stem}: {line}" for line in said if "error" in line or "fatal" in line][-3:]
        return "".join(lines)

    # What happens to nodes and to the controller.

    def crash_node(self, name: str) -> None:
        """A power cut: the node's daemon and all processes of its jobs are gone at once."""
        self.end(f"slurmd-{name}", signal.SIGKILL)
        self.kill_jobs(name)

    def drop_node(self, name: str) -> None:
        """A broken network: the node does not answer any more, but its jobs run on."""
        self.end(f"slurmd-{name}", signal.SIGKILL)

    def start_node(self, name: str) -> None:
        self.daemon(f"slurmd-{name}", "slurmd", "-D", "-N", name)

    def mark_down(self, name: str) -> None:
        """Tells the controller that a node is gone; by itself it takes half a minute to notice."""
        self.call("scontrol", "update", f"nodename={name}", "state=down", "reason=test")

    def resume(self, name: str) -> None:
        """Takes a node back after it was marked down."""
        self.call("scontrol", "update", f"nodename={name}", "state=resume")

    def stop_controller(self) -> None:
        self.end("slurmctld", signal.SIGTERM)

    def start_controller(self) -> None:
        """Starts it again, with all jobs it knew."""
        self.daemon("slurmctld", "slurmctld", "-D")

    def kill_jobs(self, node: str) -> None:
        """Kills the processes of a node's jobs, parents first, so that none can tell of another's end."""
        log = self.folder / f"log/slurmd-{node}.log"
        for step in [pid for pid in processes() if is_step(pid, log)]:
            for pid in [step, *descendants(step)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    # Jobs.

    def squeue(self, *options: str, fields: str = "JobArrayID,Name,State,Reason,NodeList,Partition") -> list[list[str]]:
        """Returns a list of fields for each task of a job, also of those that are over."""
        form = ",".join(f"{field}:|" for field in fields.split(","))
        lines = self.call("squeue", "-h", "-r", "-t", "all", "-O", form, *options).splitlines()
        return [line.split("|")[:-1] for line in lines]

    def sbatch(self, *options: str, command: str) -> str:
        """Submits a job; returns its number."""
        out = self.call("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", *options, f"--wrap={command}")
        return out.strip()

    def set_end_time(self, job: str, seconds: int) -> None:
        """Moves the time limit of a running job; Slurm looks at limits every 30 s."""
        end = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + seconds))
        self.call("scontrol", "update", f"JobId={job}", f"EndTime={end}")

    def clear(self, seconds: float = 20) -> None:
        """Ends all jobs."""
        self.call("scancel", "--full", "-u", getpass.getuser(), seconds=seconds)
        live = "pending,running,suspended,completing"
        until("all jobs have ended", seconds, lambda: not self.call("squeue", "-h", "-t", live, seconds=seconds))

    def recover(self) -> None:
        """Makes the cluster as it was at first, whatever a test did to it."""
        if "slurmctld" not in self.daemons:
            self.start_controller()
        for name in self.names:
            if f"slurmd-{name}" not in self.daemons:
                self.start_node(name)
        until("the controller answers", 30, self.answers)
        self.clear()
        for name, state in self.node_states().items():
            if state.startswith(("down", "drain")):
                self.resume(name)
        until("all nodes are idle", 60, self.is_idle)

    def answers(self) -> bool:
        try:
            return bool(self.node_states())
        except ClusterError:
            return False


def loopback_host() -> tuple[str, str, bool]:
    """Returns a host name and its address, and whether daemons must be made to believe that name.

    They listen on the address of their host's name alone, which must not be seen from outside.
    """
    name = socket.gethostname()
    with contextlib.suppress(OSError):
        address = socket.gethostbyname(name)
        if address.startswith("127."):
            return name, address, False
    return "localhost", "127.0.0.1", True


def processes() -> Iterable[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())


def is_step(pid: int, log: Path) -> bool:
    """Returns whether a process looks after the job of a node: it writes that node's log."""
    try:
        if Path(f"/proc/{pid}/comm").read_text().strip() != "slurmstepd":
            return False
        return any(os.readlink(link) == str(log) for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def descendants(pid: int) -> list[int]:
    """Returns the processes below one, parents first."""
    try:
        below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [found for child in map(int, below) for found in [child, *descendants(child)]]


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs a Slurm on this machine until Ctrl-C.")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--cpus", type=int, default=4)
    parser.add_argument("--port", type=int, default=0, help="the first port; 0: any free ones")
    parser.add_argument("--auth", choices=["munge", "none"], default="munge")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with Cluster(nodes=given.nodes, cpus=given.cpus, port=given.port, auth=given.auth) as cluster:
            print(f"export SLURM_CONF={cluster.configuration}", flush=True)
            signal.pause()
    except ClusterError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
