"""A study folder with invented but plausible results, to test what reads it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from safetensors.numpy import save_file

from headcount.config import Study, parse, studies
from headcount.heads import ATTENTION_TYPES, Head, Heads, count, flat, full, total, without
from headcount.model.shape import ATTENTION_NAMES, ModelConfig
from headcount.observe.observation import Observation
from headcount.plan import Run, runs

SMALL: dict[str, Any] = {
    "study": "fake",
    "model": {"layers_encoder": 3, "layers_decoder": 3, "width": 16, "heads": 8, "feed_forward": 32},
    "training": {"updates": 1300},
    "l0": {"updates": 250, "penalties_encoder": [0.0, 0.003, 0.006, 0.01, 0.03], "penalties_all": [0.0, 0.003, 0.01]},
    "lottery": {"heads_per_round": 9, "tickets": [36, 18]},
}
BINS = 15


def settings(**changes: Any) -> Study:
    return parse({**SMALL, **changes})


def write_study(folder: Path, study: Study) -> list[str]:
    """Write the folder of a finished study and return the ids of its runs."""
    plan = runs(study)
    (folder / "speed").mkdir(parents=True)
    for corpus, of in studies(study).items():
        for run in plan.values():
            if run.corpus == corpus:
                _write_run(folder / "runs" / run.run, of, run)
        for seed in of.seeds:
            trained = [run for run in plan.values() if (run.corpus, run.seed) == (corpus, seed) and run.trains_a_model]
            rows = [_speed(of, run) for run in trained]
            _json(folder / "speed" / f"{corpus}-s{seed}.json", {"conditions": {"threads": 1}, "rows": rows})
        (folder / "data" / corpus).mkdir(parents=True, exist_ok=True)
        _json(folder / "data" / corpus / "lookup.score.json", _score(9.1, None))
    return list(plan)


def kept_heads(study: Study, run: Run) -> Heads:
    """Invent which heads survive: higher encoder layers go first, cross-attention last; rounds are nested."""
    if run.method == "smaller":
        return _everything(run.settings["model"])
    everything, order = _everything(study.model.model_dump()), _order(study, run)
    l0 = run.settings.get("l0", {})
    asked = run.settings.get("target_heads") or l0.get("target_heads")
    if run.method == "round":
        gone = run.settings["lottery"]["round"] * run.settings["lottery"]["heads_per_round"]
    elif asked:
        gone = len(order) - asked
    elif run.method == "l0":
        gone = round((1 - math.exp(-((l0["penalty"] / 0.012) ** 1.3))) * len(order))
    else:
        gone = 0
    return without(everything, order[:gone], study.model.heads)


def _everything(model: dict[str, Any]) -> Heads:
    return full(model["layers_encoder"], model["layers_decoder"], model["heads"])


def _order(study: Study, run: Run) -> list[Head]:
    """Return the heads of the run's scope, those first that go first; new weights change nothing of it."""
    rng = np.random.default_rng(run.seed)
    heads = flat(_everything(study.model.model_dump()))
    importance = {
        head: rng.normal()
        + {"encoder": -head[1], "decoder_self": 0.5 - head[1], "decoder_cross": 1.0 + head[1]}[head[0]]
        for head in heads
    }
    way = "" if run.method.startswith("reinit") else run.settings.get("variant", "") + run.method * _chooses(run)
    if way:
        noise = np.random.default_rng([run.seed, *way.encode()])
        importance = {head: value + noise.normal() for head, value in importance.items()}
    pool = [head for head in heads if run.scope != "encoder" or head[0] == "encoder"]
    return sorted(pool, key=importance.__getitem__)


def _chooses(run: Run) -> bool:
    return run.method in ("same_counts", "ranked", "subset")


def _write_run(folder: Path, study: Study, run: Run) -> None:
    folder.mkdir(parents=True)
    (folder / "run.yaml").write_text(yaml.safe_dump(run.settings, allow_unicode=True), encoding="utf-8")
    kept = kept_heads(study, run)
    seconds = (300.0 if run.stage.startswith("train") else 60.0) + run.seed
    record = {"seconds": seconds, "tokens": 1_234_567, "updates": _updates(study, run)[1]}
    _json(folder / "run.json", {"status": "finished", **record})
    _write_journal(folder / "journal.jsonl", study, run, kept)
    if not run.trains_a_model:
        _json(folder / "heads.json", _decided(study, run, kept))
        return
    _write_model(folder, study, run, kept)
    bleu = _bleu(study, run, kept)
    _json(folder / "score.json", _score(bleu, None if run.method == "baseline" else bleu - _dense(run.seed)))
    if run.method in ("baseline", "entmax15", "entmax_alpha"):
        _observation(study, run).save(folder / "observation.npz")


def _updates(study: Study, run: Run) -> tuple[int, int]:
    """Return the updates at which the run begins and ends to count."""
    lottery = run.settings.get("lottery", {})
    if run.method == "round":
        first = lottery["rewind_update"]
        return first, first + lottery["round_updates"]
    if run.settings.get("ranked", {}).get("way") == "rate_rewound":
        return run.settings["ranked"]["rewind_update"], run.settings["training"]["updates"]
    for section in ("l0", "ranked", "subset"):
        if section in run.settings:
            return 0, run.settings[section]["updates"]
    return lottery.get("rewind_update", 0), run.settings["training"]["updates"]


def _decided(study: Study, run: Run, kept: Heads) -> dict[str, Any]:
    """Return what a round writes: the heads that it keeps and removes, and a score of each that it had."""
    order, lottery = _order(study, run), run.settings["lottery"]
    last = lottery["round"] * lottery["heads_per_round"]
    removed = order[last - lottery["heads_per_round"] : last]
    rng = np.random.default_rng([run.seed, lottery["round"]])
    scores: dict[str, list[list[float]]] = {
        kind: [
            [
                order.index(head) + rng.normal() if head in order else 0.0
                for head in sorted([*((kind, layer, h) for h in ids), *(h for h in removed if h[:2] == (kind, layer))])
            ]
            for layer, ids in enumerate(kept[kind])
        ]
        for kind in ATTENTION_TYPES
    }
    return {"kept": kept, "removed": [list(head) for head in removed], "scores": scores}


def _dense(seed: int) -> float:
    return 24.3 + 0.35 * math.sin(2.0 * seed)


def _bleu(study: Study, run: Run, kept: Heads) -> float:
    everything = _everything(study.model.model_dump())
    lost = (1 - total(kept) / total(everything)) ** 3
    worst = {"l0": 4.0 if run.scope == "encoder" else 3.0, "ticket": 2.6, "reinit": 4.2, "ranked": 3.4}.get(
        run.method, 0.0
    )
    bonus = {"l0": 0.5, "entmax15": 0.2, "entmax_alpha": 0.4}.get(run.method, 0.0)
    if run.scope == "encoder":
        lost = (1 - count(kept)["encoder"] / count(everything)["encoder"]) ** 3 / 2
    noise = 0.12 * math.sin(sum(run.run.encode()))
    return _dense(run.seed) + bonus - worst * lost + noise


def _score(bleu: float, delta: float | None) -> dict[str, Any]:
    return {
        "bleu": bleu,
        "bleu_low": bleu - 0.83,
        "bleu_high": bleu + 0.86,
        "chrf": 20 + bleu,
        "bleu_delta": delta,
        "p_value": None if delta is None else min(1.0, math.exp(-2.5 * abs(delta))),
        "bleu_without_near_duplicates": bleu - 1.1,
        "suspect": False,
    }


def _speed(study: Study, run: Run) -> dict[str, Any]:
    kept = total(kept_heads(study, run))
    heads = total(_everything(study.model.model_dump()))
    seconds = 0.004 + 0.003 * kept / heads
    removed = kept < heads
    return {
        "run": run.run,
        "heads": kept,
        "seconds_per_sentence": seconds,
        "speedup_vs_dense": 0.007 / seconds,
        "speedup_vs_masked": 0.0071 / seconds if removed else None,
        "max_logit_difference": 2.1e-6 if removed else None,
        "identical_outputs": True if removed else None,
    }


def _write_model(folder: Path, study: Study, run: Run, kept: Heads) -> None:
    model = study.model
    own = run.settings.get("model", {}) if run.method == "smaller" else {}
    values = {name: own.get(name, value) for name, value in model.model_dump().items()}
    config = ModelConfig(vocabulary=50, kept=kept, **values)
    _json(folder / "model.json", config.to_dict())
    tensors = {"embedding.weight": np.zeros((50, model.width), np.float32)}
    for kind, name in ATTENTION_NAMES.items():
        for layer, ids in enumerate(kept[kind]):
            rows = len(ids) * config.head_width
            for projection in ("query", "key", "value"):
                tensors[f"{name.format(layer)}.{projection}.weight"] = np.zeros((rows, model.width), np.float32)
    save_file(tensors, folder / "model.safetensors")


def _write_journal(path: Path, study: Study, run: Run, kept: Heads) -> None:
    rng = np.random.default_rng(sum(run.run.encode()))
    lines: list[dict[str, Any]] = []
    first, last = _updates(study, run)
    if run.method == "l0":
        lines = [_gate_line(study, run, kept, update, rng) for update in range(10, 260, 10)]
        lines[-1]["valid/nll"] = 3.0 - total(kept) / 100 + rng.normal() / 10
    elif first < last:
        pace = 400 + 15 * (sum(run.run.encode()) % 9) - (60 if run.method == "ticket" else 0)
        best = 5 - 0.01 * (72 - total(kept))
        for update in sorted({*range(first // 50 * 50 + 50, last, 50), last}):
            seconds = 0.05 * (update - first) * (0.6 + 0.4 * total(kept) / 72)
            line: dict[str, Any] = {"update": update, "tokens": 800 * update, "loss": 8.2 - 1.5 * update / last}
            line["seconds"] = seconds
            if run.method == "entmax_alpha":
                line["alpha"] = _alpha(study, run.seed, min(1.0, update / 900))
            lines.append(line)
            if update % 200 == 0 or update == last:
                progress = 1 - math.exp(-update / pace)
                bleu = max(0.0, 4.4 * best * progress**2 + rng.normal() * 0.3)
                validation = {"valid/loss": 8.3 - best * progress, "valid/bleu": bleu}
                validation["valid/nll"] = validation["valid/loss"] - 1
                lines.append({"update": update, "tokens": 800 * update, "seconds": seconds + 1, **validation})
        lines[0]["loss"] = "NaN"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _gate_line(study: Study, run: Run, kept: Heads, update: int, rng: np.random.Generator) -> dict[str, Any]:
    everything = _everything(study.model.model_dump())
    gates: dict[str, list[list[float]]] = {}
    for kind in ATTENTION_TYPES if run.scope == "all" else ATTENTION_TYPES[:1]:
        gates[kind] = [
            [
                0.98 if head in kept[kind][layer] else 1 / (1 + math.exp((update - 110 - 9 * head + 20 * layer) / 12))
                for head in ids
            ]
            for layer, ids in enumerate(everything[kind])
        ]
    return {"update": update, "loss": 3.0 + rng.normal() * 0.05, "heads/kept": total(kept), "gates": gates}


def _alpha(study: Study, seed: int, progress: float) -> dict[str, list[list[float]]]:
    rng = np.random.default_rng(seed)
    model = study.model
    layers = dict(zip(ATTENTION_TYPES, (model.layers_encoder, model.layers_decoder, model.layers_decoder), strict=True))
    goals = {"encoder": 1.0, "decoder_self": -1.0, "decoder_cross": -0.6}
    values = {
        kind: (
            rng.normal(size=(layers[kind], model.heads)) + progress * (goals[kind] + rng.normal(size=(1, model.heads)))
        )
        for kind in ATTENTION_TYPES
    }
    return {kind: (1 + 1 / (1 + np.exp(-a))).tolist() for kind, a in values.items()}


def _observation(study: Study, run: Run) -> Observation:
    model = study.model
    rng = np.random.default_rng(len(run.run))
    rows = flat(_everything(model.model_dump()))
    layers = sorted({(kind, layer) for kind, layer, _ in rows})
    final = _alpha(study, run.seed, 1.0)
    alpha = np.array([final[kind][layer][head] for kind, layer, head in rows])
    sparse = {"baseline": np.ones(len(rows)), "entmax15": np.full(len(rows), 0.3), "entmax_alpha": 2.0 - alpha}[
        run.method
    ]
    samples = np.clip(
        sparse[:, None] + (run.method != "baseline") * 0.12 * rng.normal(size=(len(rows), 200)), 0.01, 1.0
    )
    bins = np.minimum((samples * BINS).astype(int), BINS - 1)
    return Observation(
        attention=np.array([kind for kind, _, _ in rows]),
        layer=np.array([layer for _, layer, _ in rows]),
        head=np.array([head for _, _, head in rows]),
        confidence=rng.uniform(0.2, 0.9, len(rows)),
        confidence_with_eos=rng.uniform(0.2, 0.9, len(rows)),
        entropy=rng.uniform(0.2, 2.0, len(rows)),
        density=samples.mean(axis=1),
        density_sd=samples.std(axis=1),
        alpha=alpha if run.method == "entmax_alpha" else np.full(len(rows), np.nan),
        density_histogram=np.stack([np.bincount(row, minlength=BINS) for row in bins]),
        layer_attention=np.array([kind for kind, _ in layers]),
        layer_index=np.array([layer for _, layer in layers]),
        diversity=rng.uniform(0.2, 0.5, len(layers)),
        sentences=np.array(200),
    )


def _json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
