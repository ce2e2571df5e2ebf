"""A SLURM of one node with four pretend GPUs, in a folder of its own, that leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from needs import do_without, needs

CONFIG = Path("/etc/slurm")
"""Where SLURM looks by itself; another place in SLURM_CONF would not reach the steps of a job."""

CGROUP_MOUNT, CONTROLLERS = Path("/sys/fs/cgroup"), ("memory", "freezer")

DAEMONS = ("slurmd", "slurmctld", "munged")

OURS = "# made by the tests of headcount, process"

SETTINGS = """\
{ours} {owner}
ClusterName=headcount
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={slurmd_port}
SlurmUser=root
# Credentials that expire soon: a requeued job waits as long as they last.
AuthInfo=socket={root}/munged.socket,cred_expire=10
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid-file
SlurmdPidFile={root}/slurmd.pid-file
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
KillWait=2
# Jobs start as soon as there is room, not at the next of the rounds that spare a busy controller.
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=2
MinJobAge=600
DefMemPerCPU=500
GresTypes=gpu
JobAcctGatherFrequency=task=1
# The node says that it is larger than the machine, so that the profile's requests fit.
SlurmdParameters=config_overrides
{limits}
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=64000 Gres=gpu:pretend:4 State=UNKNOWN
PartitionName=cpu Nodes={host} Default=YES MaxTime=UNLIMITED State=UP
PartitionName=gpu Nodes={host} MaxTime=UNLIMITED State=UP
"""

CGROUP_LIMITS = """\
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup"""

CGROUPS = """\
CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainRAMSpace=yes
"""

WATCHED_LIMITS = """\
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherParams=OverMemoryKill"""
"""Where the kernel cannot be asked to limit memory: SLURM looks every second and kills."""


def wait_until(what: str, true: Callable[[], object], seconds: float = 60) -> None:
    """Look again and again, until it is true or the time is up."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.2)


class OneNode:
    """The cluster: start and stop it, one of its daemons, its node; ask for its jobs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.host = socket.gethostname().split(".")[0]
        self._munged, self._slurmctld, self._slurmd, _ = needs("munged", "slurmctld", "slurmd", "squeue")
        self._written: list[Path] = []

    def start(self) -> None:
        """Write the settings and start three daemons."""
        _leave_others_alone()
        for folder in ("state", "spool"):
            (self.root / folder).mkdir()
        gpus = [self.root / f"nvidia{number}" for number in range(4)]
        for gpu in gpus:  # only a device counts as a GPU: twins of the null device
            os.mknod(gpu, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        cgroups = all(os.access(CGROUP_MOUNT / controller, os.W_OK) for controller in CONTROLLERS)
        port, slurmd_port = _free_ports()
        settings = SETTINGS.format(
            ours=OURS,
            owner=os.getpid(),
            root=self.root,
            host=self.host,
            port=port,
            slurmd_port=slurmd_port,
            limits=CGROUP_LIMITS if cgroups else WATCHED_LIMITS,
        )
        self._write("slurm.conf", settings)
        self._write("gres.conf", "".join(f"NodeName={self.host} Name=gpu Type=pretend File={gpu}\n" for gpu in gpus))
        if cgroups:
            self._write("cgroup.conf", CGROUPS)
        key = self.root / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        places = [f"--{kind}={self.root}/munged.{kind}" for kind in ("socket", "pid-file", "log-file", "seed-file")]
        subprocess.run([self._munged, f"--key-file={key}", "--force", *places], check=True, capture_output=True)
        self.start_controller()
        subprocess.run([self._slurmd, "-c"], check=True)
        wait_until("an idle node", lambda: self.node_state() == "idle", 30)

    def _write(self, name: str, text: str) -> None:
        """Write a file of settings and let SLURM find it where it looks by itself."""
        (self.root / name).write_text(text, encoding="utf-8")
        link = CONFIG / name
        link.symlink_to(self.root / name)
        self._written.append(link)

    def start_controller(self) -> None:
        subprocess.run([self._slurmctld], check=True, cwd=self.root)

    def stop_controller(self) -> None:
        """End the controller as a crash would, without a word, but not within seconds of the start of a job.

        It writes down now and then which jobs run; one that it starts twice makes it take the node out of service.
        """
        wait_until("the controller has written down its jobs", self._jobs_are_written_down, 30)
        _end(self.root / "slurmctld.pid-file", signal.SIGKILL)

    def _jobs_are_written_down(self) -> bool:
        file = self.root / "state" / "job_state"
        shown = [self.shown(job) for job in self.jobs()]
        starts = [datetime.fromisoformat(job["StartTime"]) for job in shown if job["JobState"] == "RUNNING"]
        return file.exists() and all(file.stat().st_mtime > start.timestamp() + 1 for start in starts)

    def forget_jobs(self) -> None:
        """Take from a stopped controller all that it knows of jobs, as a lost disk would."""
        for known in (self.root / "state").iterdir():
            if known.is_file():
                known.unlink()

    def take_node_down(self) -> None:
        self.ask("scontrol", "update", f"NodeName={self.host}", "State=DOWN", "Reason=test")

    def bring_node_back(self) -> None:
        """Resume the node, if it is out of service and has not come back by itself: slurmd registers now and then."""
        resume = ["scontrol", "update", f"NodeName={self.host}", "State=RESUME"]
        subprocess.run(resume, check=False, capture_output=True)
        wait_until("a node at work", lambda: not re.search("down|drain", self.node_state()))

    def stop(self) -> None:
        """End all jobs and daemons, and take away what was put into folders of the system."""
        if not self._written:  # nothing is ours
            return
        subprocess.run(["scancel", "--user=root"], check=False, capture_output=True)
        try:
            wait_until("an empty queue", lambda: not self.jobs(), 30)
        finally:
            for daemon in DAEMONS:
                _end(self.root / f"{daemon}.pid-file")
            for link in self._written:
                link.unlink(missing_ok=True)
            for controller in CONTROLLERS:
                _remove_groups(CGROUP_MOUNT / controller / f"slurm_{self.host}")

    def ask(self, *command: str) -> str:
        """Run one of SLURM's commands."""
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def node_state(self) -> str:
        return subprocess.run(
            ["sinfo", "--noheader", "--partition=gpu", "--format=%T"], capture_output=True, text=True, check=False
        ).stdout.strip()

    def jobs(self, rule: str = "") -> list[str]:
        """Return the ids of queued and running jobs, of one rule or of all."""
        lines = self.ask("squeue", "--noheader", "--format=%i %k").splitlines()
        return [line.split()[0] for line in lines if f"rule_{rule}" in line]

    def shown(self, job: str) -> dict[str, str]:
        """Return what the controller knows of a job."""
        return dict(re.findall(r"(\w+)=(\S*)", self.ask("scontrol", "show", "job", job)))


def _leave_others_alone() -> None:
    """Stop where this machine has a cluster already; clear away what a killed test session of ours left."""
    if os.geteuid() != 0:
        do_without("SLURM's daemons are started as root")
    settings = CONFIG / "slurm.conf"
    if not settings.is_symlink() and not settings.exists():
        return
    owner, root = 0, settings.resolve().parent
    if settings.exists():
        first = settings.read_text(encoding="utf-8").splitlines()[0]
        if not first.startswith(OURS):
            do_without(f"{settings} is of another cluster, which is left alone")
        owner = int(first.removeprefix(OURS))
    if owner and _alive(owner):
        do_without(f"process {owner} runs these tests already")
    for daemon in DAEMONS:
        _end(root / f"{daemon}.pid-file")
    for link in CONFIG.glob("*.conf"):
        if link.is_symlink() and link.resolve().parent == root:
            link.unlink()


def _free_ports() -> list[int]:
    sockets = [socket.socket() for _ in range(2)]
    for opened in sockets:
        opened.bind(("127.0.0.1", 0))
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports


def _end(pid_file: Path, number: signal.Signals = signal.SIGTERM) -> None:
    """End the process that a pid file of ours names, and wait for it; one that does not hear is killed."""
    if not pid_file.exists():
        return
    pid = int(pid_file.read_text(encoding="utf-8"))
    for attempt in (number, signal.SIGKILL):
        if _alive(pid):
            os.kill(pid, attempt)
        end = time.monotonic() + 5
        while _alive(pid) and time.monotonic() < end:
            time.sleep(0.1)


def _alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False


def _remove_groups(top: Path) -> None:
    """Remove a tree of cgroups: their files are the kernel's, only the folders can go, from the leaves up."""
    for folder, _, _ in os.walk(top, topdown=False):
        Path(folder).rmdir()
