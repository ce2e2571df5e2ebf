"""Measured speed-up of decoding beside the ceiling of matrix products, and where the time goes (behnke2020, speed)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from headcount.figures.groups import SOFTMAX, Group, Value, corpora, main_corpus, note, read
from headcount.figures.pruned_speed import DENSE, Condition, conditions, timed
from headcount.figures.style import look
from headcount.figures.tabular import NOTHING, Cell, Table, write

ABOVE, CLEARLY = "†", 1.02
"""Mark of a speed-up that is so many times its ceiling; less may be chance."""

MS, SPEEDUP = "ms", "speed-up"
KINDS = {
    "seconds_matrix_products": "matrix products",
    "seconds_attention": "attention kernel",
    "seconds_cache": "cache",
    "seconds_rest": "rest",
}
"""Column of `speeds.csv` → its heading."""


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv` and `speeds.csv`, and write the tables to `out` (HTML) and beside it as Markdown."""
    runs, speeds = read(tables, "runs"), read(tables, "speeds")
    profile = _profile(runs, speeds)
    write([_table(runs, speeds), *([profile] if profile.rows else [])], out)


def _table(runs: pd.DataFrame, speeds: pd.DataFrame) -> Table:
    """Return a row for each structure that was timed."""
    every = conditions(speeds)
    beams = {condition.beam: condition for condition in every}  # a ceiling is one of the beam, whatever the batch
    several = len(corpora(runs)) > 1
    columns = [
        *([("", "corpus")] if several else []),
        ("", "model"),
        ("", "heads kept"),
        *(("ceiling", condition.search) for condition in beams.values()),
        *((condition.label, heading) for condition in every for heading in (MS, SPEEDUP)),
    ]
    rows: list[list[str | Cell]] = [
        [
            *([corpus] if several else []),
            _model(group),
            _number(group.value("heads"), "{:.0f}"),
            *(_number(condition.value(group, "ceiling"), "{:.2f}") for condition in beams.values()),
            *(cell for condition in every for cell in _measured(group, condition)),
        ]
        for corpus in corpora(runs)
        for group in timed(runs, speeds, corpus)
    ]
    flat = [f"{above}, {heading}" if above else heading for above, heading in columns]
    notes = _notes(runs, speeds, marked=any(str(cell).endswith(ABOVE) for row in rows for cell in row))
    return Table("speed of decoding", columns, rows, notes, flat, 1 if several else len(columns))


def _model(group: Group) -> Cell:
    style = look(group.method, group.variant)
    scope = ", encoder" if group.scope == "encoder" else ""
    penalty = f", {group.label}" if group.penalty >= 0 else ""
    return Cell(style.label + scope + penalty, dot=style.colour)


def _measured(group: Group, condition: Condition) -> list[str]:
    """Return the cells of one condition: time, and speed-up with the mark of one that is above its ceiling."""
    seconds, speedup, ceiling = (
        condition.value(group, column) for column in ("seconds_per_sentence", "speedup", "ceiling")
    )
    above = speedup is not None and ceiling is not None and speedup.centre > CLEARLY * ceiling.centre
    milliseconds = "" if seconds is None else f"{1000 * seconds.centre:#.3g}".rstrip(".")
    return [milliseconds, _number(speedup, "{:.2f}") + (f" {ABOVE}" if above else "")]


def _number(value: Value | None, form: str) -> str:
    """Write a mean, with its standard deviation where seeds differ visibly."""
    if value is None:
        return ""
    spread = form.format(value.high - value.centre)
    return form.format(value.centre) + (f" ± {spread}" if float(spread) > 0 else "")


def _notes(runs: pd.DataFrame, speeds: pd.DataFrame, *, marked: bool) -> list[str]:
    seeds = runs["seed"].nunique()
    above = (
        f" {ABOVE} is clearly above it: what is no product of matrices shrinks as well, that is, the softmax, the "
        "cache, which every step copies, and the number of calls."
    )
    notes = [
        f"Mean ± standard deviation over {seeds} seeds." if seeds > 1 else "One seed.",
        "Median milliseconds a sentence, one thread of a CPU, weights without the removed heads. Every model does the "
        "steps of the dense model's search, so all decode the same translations. Models with equally many heads in "
        "each layer count as one, which stands here under the first of them.",
        "Ceiling: multiply-accumulates of the dense model's matrix products over those of the model, output layer "
        "included, embeddings left out." + (above if marked else ""),
    ]
    softmax = runs.loc[runs["parent_normaliser"] == SOFTMAX, "run"]
    masked = (speeds["speedup_vs_masked"] / speeds["speedup"])[speeds["run"].isin(softmax)].median()
    if masked > 0:
        notes.append(f"A model whose heads are masked instead takes {masked:.2f} times as long as the dense one.")
    return notes


def _profile(runs: pd.DataFrame, speeds: pd.DataFrame) -> Table:
    """Return the time by kind of operation of the first seed's dense and smallest model."""
    corpus = main_corpus(runs)
    of = runs[(runs["corpus"] == corpus) & (runs["seed"] == runs["seed"].min())].set_index("run")
    profiled = speeds[speeds["run"].isin(of.index)].dropna(subset=list(KINDS))
    columns = [
        ("", "search"),
        ("", "model"),
        ("", "heads"),
        *(("ms per sentence", heading) for heading in (*KINDS.values(), "all")),
    ]
    rows: list[list[str | Cell]] = []
    for condition in conditions(profiled):
        seconds = condition.rows.set_index("run")[list(KINDS)]
        for run, kinds in seconds.iterrows():
            model = "dense" if of.loc[run, "method"] == DENSE else "fewest heads"
            rows.append([condition.label, model, f"{of.loc[run, 'heads']:.0f}", *_milliseconds(list(kinds))])
        if len(seconds) == 2:
            rows.append([condition.label, SPEEDUP, "", *_factors(seconds.iloc[0], seconds.iloc[1])])
    notes = [
        "CPU time by the function of PyTorch that is called. Matrix products: with parameters; attention kernel: "
        "attention without its projections; cache: growing and reordering it; rest: norms, the choice of "
        "continuations, Python. A kind whose speed-up is above the ceiling of matrix products lifts the whole."
    ]
    return Table(f"where the time goes{note(runs, corpus)}", columns, rows, notes)


def _milliseconds(seconds: Sequence[float]) -> list[str]:
    return [f"{1000 * value:.2f}" for value in (*seconds, sum(seconds))]


def _factors(dense: pd.Series[float], small: pd.Series[float]) -> list[str]:
    """Write how much faster each kind, and all of them, got."""
    pairs = [*zip(dense, small, strict=True), (dense.sum(), small.sum())]
    return [f"{before / after:.2f}×" if after > 0 else NOTHING for before, after in pairs]
