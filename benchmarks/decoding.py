"""Greedy and beam decoding beside Hugging Face and CTranslate2: the same weights, batches and numbers of steps.

The weights are random and the rows of PAD, BOS and EOS in the embedding are zero, so their logits are 0 where the best
of 4,000 others are near 3: no hypothesis ends by itself. Every sentence of a batch is decoded for the same number of
steps, so all sides do the same amount of work and, where they compute the same function, give the same pieces.
Post-norm is the only order that Marian's class in transformers has.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import numpy as np
import torch

from benchmarks.corpus import prepared
from benchmarks.environments import WORK
from benchmarks.peers.searches import timed
from benchmarks.rounds import Line, Result, Side, alternate
from headcount.data.encoded import Encoded
from headcount.data.prepare import Layout
from headcount.model.decode import translate
from headcount.model.shape import ModelConfig
from headcount.model.transformer import Transformer
from headcount.model.weights import build
from headcount.vocabulary import BOS, EOS, PAD

ROUNDS = 5
BATCHES, SENTENCES_PER_BATCH = 3, 64

CONFIG = ModelConfig(
    vocabulary=4000,
    layers_encoder=6,
    layers_decoder=6,
    width=256,
    heads=8,
    feed_forward=1024,
    norm="post",
    tie_embeddings=True,
    dropout=0.0,
    attention_dropout=0.0,
)

CONDITIONS = {
    "model": "d256 ff1024 6+6 layers 8 heads V=4000 post-norm tied, random weights, the same on both sides",
    "data": f"{BATCHES} batches of {SENTENCES_PER_BATCH} Tatoeba en-de test sentences of similar length",
    "search": "beam 4; as many steps as the batch's references have pieces; one call a batch; no length penalty",
    "time": "CPU time of the calls, one batch of warm-up before; every side in its own process",
}


def never_ending(config: ModelConfig, seed: int = 1) -> Transformer:
    """Build a model with random weights that never ends a sentence before its limit."""
    torch.manual_seed(seed)
    model = Transformer(config).eval()
    with torch.no_grad():
        for matrix in model.embedding.values():
            matrix[[PAD, BOS, EOS]] = 0.0
    return model


def batches(corpus: Path, number: int, sentences: int) -> list[tuple[list[list[int]], int]]:
    """Return batches of test sentences, short to long, and the number of steps that each is decoded for."""
    test = Encoded.load(Layout(corpus).encoded("test"))
    order = np.lexsort((test.target_lengths, test.source_lengths))
    order = order[len(order) % sentences :].reshape(-1, sentences)  # [batch, sentence]
    chosen = order[np.linspace(0, len(order) - 1, number + 2).astype(int)[1:-1]]  # neither the shortest nor the longest
    return [
        ([test.source(index).tolist() for index in batch], round(float(test.target_lengths[batch].mean())))
        for batch in chosen
    ]


def search(model: Transformer, sources: list[list[int]], steps: int, beam: int) -> list[list[int]]:
    """Decode one batch; the last step is the one that adds EOS."""
    return translate(
        model,
        sources,
        beam=beam,
        length_penalty=0.0,
        max_length=lambda _: steps - 1,
        sentences_per_batch=len(sources),
    )


def write_task(folder: Path, corpus: Path) -> None:
    """Write what all sides read: `weights.npz` by our parameter names, and `task.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.numpy() for name, value in never_ending(CONFIG).state_dict().items()}
    np.savez(folder / "weights.npz", **weights)
    task = {
        "config": CONFIG.to_dict(),
        "specials": {"pad": PAD, "bos": BOS, "eos": EOS},
        "batches": batches(corpus, BATCHES, SENTENCES_PER_BATCH),
    }
    (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")


def ours(folder: Path) -> Result:
    """Decode the task of a folder; sentences per CPU-second by kind of search, and the pieces."""
    torch.set_num_threads(1)
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    with np.load(folder / "weights.npz") as weights:
        state = {name: torch.from_numpy(weights[name]) for name in weights.files}
    model = build(state, ModelConfig.from_dict(task["config"]))
    rates, pieces = timed(functools.partial(search, model), task["batches"])
    return {"rates": rates, "pieces": pieces}


def compare(names: tuple[str, ...]) -> list[Line]:
    """Measure the line of Hugging Face, or those of CTranslate2, whose float32 and int8 share a process."""
    folder = WORK / "decoding"
    write_task(folder, prepared())
    script = "generate.py" if names == ("decode_vs_hf",) else "ctranslate.py"
    sides = [
        Side("ours", ["-m", "benchmarks.decoding", str(folder)]),
        Side("hf", [f"benchmarks/peers/hf/{script}", str(folder)]),
    ]
    mine, peer = alternate(sides, ROUNDS)
    return [_line(name, mine, peer, "int8_" if name.endswith("int8") else "") for name in names if peer]


def _line(name: str, mine: list[Result], peer: list[Result], prefix: str) -> Line:
    """Compare beam search; greedy search and the equality of its pieces go into the conditions."""
    rates = [[each["rates"]["greedy"] for each in mine], [each["rates"][f"{prefix}greedy"] for each in peer]]
    greedy = Line(name, "", *rates).record({})
    found = mine[0]["pieces"]["greedy"], peer[0]["pieces"][f"{prefix}greedy"]
    equal = [a == b[: len(a)] for a, b in zip(*found, strict=True)]
    return Line(
        name,
        unit="sentences per CPU-second",
        ours=[each["rates"]["beam4"] for each in mine],
        peer=[each["rates"][f"{prefix}beam4"] for each in peer],
        conditions={
            **CONDITIONS,
            "peer": peer[0]["what"][f"{prefix}beam4"],
            "greedy": f"ours / peer {greedy['ratio']:.2f} ({greedy['low']:.2f} to {greedy['high']:.2f})",
            "same pieces": f"greedy, {sum(equal)} of {len(equal)} sentences",
            "not equal": peer[0]["not_equal"],
        },
        peer_version=peer[0]["version"],
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(ours(Path(sys.argv[1]))) + "\n")
