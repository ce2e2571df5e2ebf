"""How fast a GPU is: each part yields names, the two speeds of every round and their unit."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.gpu_bench import Bench, translated
from headcount.pruning.gradual import reduced
from headcount.train.device import compiled

Speeds = Iterator[tuple[str, list[tuple[float, float]], str]]


def time_training(bench: Bench, name: str, precision: str) -> Speeds:
    """Time compiled against eager."""
    plain, fast = (bench.model(bench.size.models[name], dropout=bench.size.dropout) for _ in range(2))
    hidden = compiled(fast, bench.size.backend)
    for model, step in ((plain, plain.hidden), (fast, hidden)):
        bench.steps(model, step, precision, bench.size.steps)  # every kernel is made before it is timed
    yield (
        f"gpu_train_{name}_{precision}",
        [
            (
                bench.steps(fast, hidden, precision, bench.size.steps)[1],
                bench.steps(plain, plain.hidden, precision, bench.size.steps)[1],
            )
            for _ in range(bench.size.rounds)
        ],
        "target tokens/s, compiled against eager",
    )


def time_entmax(bench: Bench) -> Speeds:
    """Time entmax against softmax in every attention, both eager."""
    precision = bench.size.precisions[0]
    models = [bench.model(bench.first(), normaliser=name) for name in ("entmax_alpha", "softmax")]
    for model in models:
        bench.steps(model, model.hidden, precision, 2)
    pairs = []
    for _ in range(bench.size.rounds):
        ours, peer = (bench.steps(model, model.hidden, precision, bench.size.steps)[1] for model in models)
        pairs.append((ours, peer))
    yield "gpu_step_entmax_vs_softmax", pairs, "target tokens/s"


def time_decoding(bench: Bench) -> Speeds:
    """Time a model with a quarter of its heads against the whole one."""
    dense = bench.model(bench.first()).eval()
    quarter = {kind: [ids[: max(len(ids) // 4, 1)] for ids in layers] for kind, layers in dense.config.kept.items()}
    removed = reduced(dense, quarter).to(bench.device)
    sources = [bench.corpus.source(n).tolist() for n in range(bench.size.sentences)]
    for name, beam in (("greedy", 1), ("beam4", 4)):
        pairs = []
        for turn in range(bench.size.rounds + 1):
            speeds = []
            for model in (removed, dense):
                bench.wait()
                began = time.perf_counter()
                translated(model, sources, beam, 256)
                bench.wait()
                speeds.append(len(sources) / (time.perf_counter() - began))
            pairs += [(speeds[0], speeds[1])] if turn else []  # the first is for warming up
        yield f"gpu_removed_{name}", pairs, "sentences/s"
