"""The script for several nodes, with programs in place of SLURM's and torchrun that write down what they are told."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "profiles" / "slurm" / "multi-node.sbatch"


def submitted(tmp_path: Path, *arguments: str, torchrun_status: int = 0) -> tuple[int, list[str]]:
    """Run the script as SLURM would on the first of two nodes; return its status and what torchrun was given."""
    programs = {
        "scontrol": "printf 'node1\\nnode2\\n'",
        "srun": 'shift; exec "$@"',
        "torchrun": f'printf "%s\\n" "OMP_NUM_THREADS=$OMP_NUM_THREADS" "$@" > told; exit {torchrun_status}',
    }
    stubs = tmp_path / ".venv" / "bin"
    stubs.mkdir(parents=True)
    for name, does in programs.items():
        (stubs / name).write_text(f"#!/bin/bash\n{does}\n")
        (stubs / name).chmod(0o755)
    slurm = {
        "SLURM_JOB_NODELIST": "node[1-2]",
        "SLURM_NNODES": "2",
        "SLURM_GPUS_ON_NODE": "4",
        "SLURM_CPUS_PER_TASK": "10",
        "SLURM_JOB_ID": "41234",
    }
    done = subprocess.run(
        ["bash", str(SCRIPT), *arguments], cwd=tmp_path, env={**os.environ, **slurm}, capture_output=True, check=False
    )
    told = tmp_path / "told"
    return done.returncode, told.read_text().splitlines() if told.exists() else []


def test_the_script_is_sound():
    subprocess.run(["bash", "-n", str(SCRIPT)], check=True)
    first = SCRIPT.read_text().splitlines()[0]
    assert first == "#!/bin/bash"


def test_each_node_starts_a_rank_for_each_gpu_of_one_training(tmp_path: Path):
    settings = '{"run": "baseline-s1", "seed": 1}'
    status, told = submitted(tmp_path, "--settings", settings, "--out", "runs/a", "parent one")
    assert status == 0
    assert told == [
        "OMP_NUM_THREADS=2",
        "--nnodes=2",
        "--nproc-per-node=4",
        "--max-restarts=0",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=node1:29734",
        "--rdzv-id=41234",
        "--module",
        "headcount",
        "train",
        "--settings",
        settings,
        "--out",
        "runs/a",
        "parent one",
    ]


@pytest.mark.parametrize(("said", "expected"), [("interrupted", 75), ("failed", 1), ("", 1)])
def test_an_interrupted_run_asks_for_a_new_start(tmp_path: Path, said: str, expected: int):
    if said:
        (tmp_path / "run.json").write_text(json.dumps({"status": said}, indent=1))
    assert submitted(tmp_path, "--out", str(tmp_path), torchrun_status=1)[0] == expected


def test_arguments_without_a_run_folder_are_refused(tmp_path: Path):
    assert submitted(tmp_path, "--settings", "{}") == (2, [])
