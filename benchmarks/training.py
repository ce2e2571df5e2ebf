"""Training beside other toolkits: target tokens per CPU-second of a process with one thread, start-up excluded.

Ours is the command that the workflow runs, `headcount train`, read from its journal. The peers run their own command
line with their own batches, whose updates report their tokens; Hugging Face, which has none for translation, gets a
plain loop and our batches.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.corpus import DESCRIPTION, SETTINGS, export, prepared
from benchmarks.environments import WORK
from benchmarks.rounds import Line, Result, Side, alternate
from headcount import config
from headcount.data.batching import TokenBatches
from headcount.data.encoded import Encoded
from headcount.data.prepare import Layout
from headcount.plan import runs
from headcount.vocabulary import BOS, EOS, PAD

ROUNDS = 4
TOKENS_PER_BATCH = 2000
WARM_UP, MEASURED = 20, 16
"""Updates of ours: the journal has a line every 20 updates and one at the end. Peers warm up for 8."""

MODEL = {
    "layers_encoder": 3,
    "layers_decoder": 3,
    "width": 128,
    "heads": 8,
    "feed_forward": 512,
    "norm": "pre",
    "tie_embeddings": True,
    "dropout": 0.1,
    "attention_dropout": 0.0,
}
TRAINING = {
    "updates": WARM_UP + MEASURED,
    "tokens_per_batch": TOKENS_PER_BATCH,
    "accumulate_batches": 1,
    "learning_rate": 0.001,
    "warmup_updates": WARM_UP,
    "clip_norm": 1.0,
    "label_smoothing": 0.1,
    "average_every_updates": 1,
    "average_checkpoints": 1,
    "validate_every_updates": WARM_UP + MEASURED,
    "validate_sentences": 2,
    "device": "cpu",
    "precision": "float32",
}

PEERS = {"train_vs_eole": "eole", "train_vs_opennmt": "opennmt", "train_vs_hf": "hf", "train_vs_joeynmt": "joeynmt"}

CONDITIONS = {
    "model": "d128 ff512 3+3 layers 8 heads V=4000, one tied embedding, sinusoidal positions",
    "data": f"{DESCRIPTION}; about {TOKENS_PER_BATCH:,} tokens a batch, padding included",
    "training": "dropout 0.1, none on attention weights, label smoothing 0.1, Adam, gradient clipping, float32",
    "time": f"CPU time of {MEASURED} updates after a warm-up, with batching and reports; each side in its own process",
}
NOT_EQUAL = {
    "eole": "its biases and initialisation; batch size 12 % up for equal tokens; report of attention entropy off",
    "opennmt": "its biases and initialisation; batch size 12 % up for equal tokens",
    "hf": "post-norm, the only order that Marian has; our batches, a plain loop with fused Adam, logits kept",
    "joeynmt": "dropout 0.1 also on attention weights, for want of a setting; batches not sorted by length; 6 updates",
}


def compare(names: tuple[str, ...]) -> list[Line]:
    """Measure ours and the named peers in turn."""
    folder = WORK / "training"
    write_task(folder, prepared())
    sides = [Side("ours", ["-m", "benchmarks.training", str(folder)])]
    sides += [Side(PEERS[name], [f"benchmarks/peers/{PEERS[name]}/train.py", str(folder)]) for name in names]
    mine, *others = alternate(sides, ROUNDS)
    return [_line(name, mine, peer) for name, peer in zip(names, others, strict=True) if peer]


def _line(name: str, mine: list[Result], peer: list[Result]) -> Line:
    return Line(
        name,
        unit="target tokens per CPU-second",
        ours=[each["tokens"] / each["cpu_seconds"] for each in mine],
        peer=[each["tokens"] / each["cpu_seconds"] for each in peer],
        conditions={
            **CONDITIONS,
            "tokens an update": f"{mine[0]['tokens'] / mine[0]['updates']:.0f} ours, "
            f"{peer[0]['tokens'] / peer[0]['updates']:.0f} peer",
            "not equal": NOT_EQUAL[PEERS[name]],
        },
        peer_version=peer[0]["version"],
    )


def settings() -> dict[str, Any]:
    """Return the complete settings of the run, as the plan of a study hands them to `headcount train`."""
    study = config.parse({**SETTINGS, "model": MODEL, "training": TRAINING})
    (run,) = runs(study).values()
    return dict(run.settings)


def write_task(folder: Path, corpus: Path) -> None:
    """Write what the sides read: text as pieces, our batches, `task.json` with sizes."""
    export(corpus, folder / "text", pairs=20)
    batches = TokenBatches(Encoded.load(Layout(corpus).encoded("train")), tokens_per_batch=TOKENS_PER_BATCH, seed=1)
    window = [batches.at(position) for position in range(8 + MEASURED)]
    task = {
        "corpus": str(corpus),
        "settings": settings(),
        "config": {**MODEL, "vocabulary": SETTINGS["subword"]["vocabulary"]},
        "tokens_per_batch": TOKENS_PER_BATCH,
        "label_smoothing": TRAINING["label_smoothing"],
        "updates": [8, 8 + MEASURED],
        "specials": {"pad": PAD, "bos": BOS, "eos": EOS},
        "batches": [[batch.source.tolist(), batch.target_output.tolist()] for batch in window],
    }
    (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")


def ours(folder: Path) -> Result:
    """Run `headcount train` and read its journal from the end of the warm-up to the last update."""
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    out = folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "headcount",
        "train",
        "--settings",
        json.dumps(task["settings"]),
        "--code",
        "bench",
    ]
    subprocess.run([*command, "--data", task["corpus"], "--out", str(out)], check=True)
    return read_journal((out / "journal.jsonl").read_text(encoding="utf-8"), WARM_UP, WARM_UP + MEASURED)


def read_journal(text: str, first: int, last: int) -> Result:
    """Return tokens, CPU-seconds and updates between the reports of two updates."""
    reports = [entry for entry in map(json.loads, text.splitlines()) if "loss" in entry]
    (begin,) = (entry for entry in reports if entry["update"] == first)
    (end,) = (entry for entry in reports if entry["update"] == last)
    spent = {key: end[key] - begin[key] for key in ("tokens", "cpu_seconds")}
    return {**spent, "updates": last - first}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(ours(Path(sys.argv[1]))) + "\n")
