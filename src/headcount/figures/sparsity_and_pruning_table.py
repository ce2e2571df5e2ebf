"""What pruning costs sparse and dense attention, and which heads survive, as tables (an extension of correia2019)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headcount.figures.cells import bleu, lead
from headcount.figures.groups import Group, Value, read
from headcount.figures.sparse_attention_table import change
from headcount.figures.sparsity_and_pruning import Comparison, comparisons, dense_method, interval, pruned
from headcount.figures.style import SHORT_LABELS, look
from headcount.figures.tabular import Cell, Table, write
from headcount.figures.variants import label

NOTHING = Table("pruned sparse attention", [("", "attention")], [], ["No model with sparse attention was pruned."])
NAMES = {"alpha": "α", "density": "density"}


def draw(tables: Path, out: Path) -> None:
    """Read `runs.csv`, `heads.csv` and `observations.csv`, and write tables to `out` (HTML) and as Markdown."""
    runs, heads, measures = (read(tables, name) for name in ("runs", "heads", "observations"))
    found = pruned(runs)
    compared = comparisons(runs, heads, measures)
    write([_scores(found) if found else NOTHING, *([_survivors(compared)] if compared else [])], out)


def _scores(found: Sequence[Group]) -> Table:
    """Return a row for each dense model and what was left of it."""
    families = dict.fromkeys(group.normaliser for group in found)
    dense = {group.normaliser: group for group in found if group.method == dense_method(group.normaliser)}
    rows = [
        [
            Cell(label(dense_method(name)), dot=look(dense_method(name)).colour),
            _model(group),
            _heads(group),
            bleu(group),
            own_change(group, dense.get(name)),
            change(group),
        ]
        for name in families
        for group in found
        if group.normaliser == name
    ]
    columns = [
        *(("", heading) for heading in ("attention", "model", "heads kept", "BLEU")),
        *(("change of BLEU", heading) for heading in ("against its dense model", "against dense softmax")),
    ]
    notes = [
        "BLEU: mean ± standard deviation over the seeds; of one seed with its 95 % bootstrap interval.",
        "Against its dense model: seed by seed, ± standard deviation. Against dense softmax: mean, with the lowest and "
        "highest end of the seeds' paired 95 % intervals, bold where p < 0.05 in every seed.",
        "λ = 0 is the control: the extra training of the L0 runs, no head removed.",
    ]
    return Table("BLEU after pruning", columns, rows, notes)


def _model(group: Group) -> str:
    if group.method == dense_method(group.normaliser):
        return "dense"
    return f"{look(group.method).label}, {group.label}"


def _heads(group: Group) -> str:
    value = group.value("heads")
    return "" if value is None else f"{value.centre:.1f}".removesuffix(".0")


def own_change(group: Group, dense: Group | None) -> str:
    """Show how far a pruned model is from the dense model of its seed, from which it comes."""
    return "" if dense is None or group.method == dense.method else lead(group, dense)


def _survivors(compared: Sequence[Comparison]) -> Table:
    """Return a row for each measure, attention and pruning method; cells are means of kept and of removed heads."""
    sides = ("kept", "removed")
    columns = [
        *(("", heading) for heading in ("measure", "attention", "pruned by")),
        *((name, side) for name in SHORT_LABELS.values() for side in sides),
        ("", "rank correlation with survival"),
    ]
    rows = [
        [
            NAMES[one.measure],
            label(dense_method(one.normaliser)),
            f"{look(one.method).label}, {one.setting}",
            *(_mean(side.get(kind)) for kind in SHORT_LABELS for side in (one.kept, one.removed)),
            interval(one.correlation),
        ]
        for one in compared
    ]
    notes = [
        "Means before pruning, with 95 % intervals over the heads of all seeds; of each method the setting that kept "
        "nearest to half of the heads.",
        "Rank correlation within each seed's attention types, with Fisher's 95 % interval; above 0: larger values "
        "survive.",
    ]
    return Table("heads kept and removed", columns, rows, notes)


def _mean(value: Value | None) -> str:
    if value is None:
        return ""
    return f"{value.centre:.2f} ± {value.high - value.centre:.2f}"
