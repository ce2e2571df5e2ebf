"""One look for all figures: sizes, colours, markers, and files whose bytes depend on the numbers only."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from headcount.files import atomic_path
from headcount.heads import ATTENTION_TYPES

COLUMN_INCHES = 3.4
"""Width of one column of a two-column paper."""

PAGE_INCHES = 7.0
"""Width of both columns."""

GREY = "#6F6F6F"
PALE = "#E9E9E9"

MINUS = "\N{MINUS SIGN}"

PAPER = "#8F8F8F"
"""Colour of the paper's own numbers, never of ours."""

CORPUS_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Colours of the corpora in the order of the study, where a figure compares them; they repeat after the last."""

ATTENTION_LABELS = dict(
    zip(ATTENTION_TYPES, ("encoder self-attention", "decoder self-attention", "decoder cross-attention"), strict=True)
)
"""How the attention types are called in figures and reports."""

SHORT_LABELS = dict(zip(ATTENTION_TYPES, ("encoder", "decoder self", "cross"), strict=True))
"""The same where space is short."""

EDGE: dict[str, Any] = {"markersize": 5, "markeredgecolor": "white", "markeredgewidth": 0.4}
"""Size and rim of a point, which stays visible where points lie on each other."""

Stroke = Literal["-"] | tuple[float, tuple[float, ...]]
"""A solid line, or offset and lengths of dashes and gaps."""

SETTINGS: dict[Any, Any] = {
    "font.family": ["DejaVu Sans", "IPAexGothic"],  # both are packages, so that figures are equal on all machines
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 4,
    "errorbar.capsize": 1.8,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "headcount",
    "pdf.fonttype": 42,
}


@dataclass(frozen=True)
class Look:
    """How a method appears in every figure and table."""

    label: str
    colour: str
    marker: str


LOOKS = {
    "baseline": Look("dense baseline (softmax)", "#000000", "X"),
    "l0": Look("L0 gates", "#0072B2", "o"),
    "round": Look("lottery round", "#D55E00", "d"),
    "ticket": Look("lottery ticket", "#D55E00", "D"),
    "reinit": Look("re-initialised ticket", "#E69F00", "s"),
    "entmax15": Look("1.5-entmax", "#009E73", "^"),
    "entmax_alpha": Look("α-entmax", "#CC79A7", "v"),
    "sparsemax": Look("sparsemax", "#117733", "<"),
    "entmax_fixed": Look("entmax, fixed α", "#44AA99", ">"),
    "entmax_alpha_layer": Look("α-entmax, one α a layer", "#AA4499", "h"),
    "entmax_alpha_model": Look("α-entmax, one α a model", "#882255", "8"),
    "entmax_bisect": Look("α-entmax, bisection", "#DDCC77", "*"),
    "scratch": Look("trained from scratch", "#56B4E9", "p"),
    "random": Look("random heads", "#999933", "P"),
    "same_counts": Look("random heads in the ticket's layers", "#6699CC", "h"),
    "reinit_longer": Look("re-initialised, trained longer", "#7F4F00", "s"),
    "ranked": Look("ranked after training", "#2F9E6E", "^"),
    "subset": Look("learned subset", "#994F88", "v"),
    "smaller": Look("smaller dense model", "#555555", "X"),
    "unnamed": Look("unnamed heads removed", "#332288", "<"),
    "named": Look("named heads removed", "#CC6677", ">"),
    "lookup": Look("lookup baseline", GREY, "d"),
}
"""Colours of Okabe and Ito, then of Tol's muted set, distinct for colour-blind readers; markers repeat the distinction
without colour."""

VARIANTS = {
    "ticket-michel": Look("ticket by gradient (Michel)", "#882255", ">"),
    "ticket-random": Look("ticket of random heads", "#999933", "P"),
    "ticket-inverse": Look("ticket of the least confident heads", "#CC79A7", "v"),
    "ticket-per_layer": Look("ticket, as many in each layer", "#009E73", "^"),
    "ticket-per_type": Look("ticket, as many of each type", "#44AA99", "<"),
    "ticket-from_start": Look("ticket from the initialisation", "#332288", "o"),
    "ranked-one_shot": Look("ranked after training, one shot", "#2F9E6E", "^"),
    "ranked-iterative": Look("ranked after training, in steps", "#2F9E6E", "<"),
    "ranked-rate_rewound": Look("ranked after training, rate rewound", "#2F9E6E", ">"),
}
"""Variants of a method that are drawn apart from it, `<method>-<variant>`, by the names that our studies give them."""

SPARE_COLOURS = ("#8B6D00", "#5B3A8C", "#777777")


ROLES = {
    "positional": "#56B4E9",
    "syntactic": "#E69F00",
    "rare": "#CC79A7",
    "several": "#5BBF9A",
    "unnamed": "#DCDCDC",
}
"""Colours of what a head does, pale enough for black text; `several` has functions of more than one kind."""

ROLE_LABELS = {
    "positional": "positional",
    "syntactic": "syntactic",
    "rare": "rare tokens",
    "several": "of several kinds",
    "unnamed": "unnamed",
}


def kind_of(kinds: Set[str]) -> str:
    """Return the kind of a head whose functions are of the given kinds, a key of `ROLES`."""
    return "several" if len(kinds) > 1 else next(iter(kinds), "unnamed")


LETTERS = {"nsubj": ("v", "s"), "dobj": ("v", "o"), "obj": ("v", "o"), "amod": ("n", "a"), "advmod": ("v", "a")}
"""How the paper abbreviates head word and dependent of a relation: verb, subject, object, noun, adjective or adverb."""

WORDS = {"v": "verb", "s": "subject", "o": "object", "n": "noun", "amod": "adjective", "advmod": "adverb"}


def role_name(role: str) -> str:
    """Return a role of `roles.csv` in the paper's notation: `v→s` for `nsubj:to_dependent`, `−1`, `+1`, `rare`."""
    relation, _, direction = role.rpartition(":")  # a relation of UD may hold a colon itself
    if not relation:
        return "rare" if role.startswith("rare") else role.replace("-", MINUS)
    word, dependent = LETTERS.get(relation, ("h", relation))
    return f"{word}→{dependent}" if direction == "to_dependent" else f"{dependent}→{word}"


def role_words(role: str) -> str:
    """Return a syntactic role in words: `verb → subject` for `nsubj:to_dependent`."""
    relation, _, direction = role.rpartition(":")
    word, dependent = LETTERS.get(relation, ("head word", relation))
    ends = [WORDS.get(word, word), WORDS.get(relation, WORDS.get(dependent, dependent))]
    return " → ".join(ends if direction == "to_dependent" else reversed(ends))


def look(method: str, variant: str = "") -> Look:
    """Return the look of a method; one that is unknown here, or a variant of one, gets its name and a spare colour."""
    if not variant and method in LOOKS:
        return LOOKS[method]
    if (name := f"{method}-{variant}") in VARIANTS:
        return VARIANTS[name]
    words = re.sub(r"(?<!\de)-", ", ", variant.replace("_", " "))  # a rate may be 1e-05
    label = f"{LOOKS[method].label}, {words}" if method in LOOKS else method
    return Look(label, SPARE_COLOURS[sum(f"{method}{variant}".encode()) % len(SPARE_COLOURS)], "*")


def shades(colour: str) -> LinearSegmentedColormap:
    """Return the colour map from almost white to `colour`."""
    return LinearSegmentedColormap.from_list(colour, ["#F4F4F4", colour])


@contextlib.contextmanager
def paper_style() -> Iterator[None]:
    """Draw with the settings of this module only, whatever the user's matplotlib says."""
    _add_japanese_font()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


@functools.cache
def _add_japanese_font() -> None:
    """Make IPAexGothic known; importing its package would set matplotlib up in a way of its own."""
    package = importlib.util.find_spec("matplotlib_fontja")
    assert package is not None
    assert package.origin is not None
    font_manager.fontManager.addfont(Path(package.origin).parent / "fonts" / "ipaexg.ttf")


def panel_title(axes: Axes, text: str) -> None:
    """Put a title above the left edge of a panel."""
    axes.set_title(text, loc="left", pad=4)


def nothing_to_draw(reason: str) -> Figure:
    """Return a figure that says why it is empty."""
    figure = Figure(figsize=(COLUMN_INCHES, 0.8))
    figure.text(0.5, 0.5, reason, ha="center", va="center", color=GREY)
    return figure


def save(figure: Figure, out: Path) -> None:
    """Write the figure to `out` (SVG) and beside it as PDF; equal figures give equal bytes."""
    with atomic_path(out) as temporary:
        figure.savefig(temporary, format="svg", metadata={"Date": None, "Creator": "headcount"})
    with atomic_path(out.with_suffix(".pdf")) as temporary:
        figure.savefig(temporary, format="pdf", metadata={"CreationDate": None, "Creator": "headcount"})
