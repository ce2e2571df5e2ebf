"""Concrete and Hard Concrete densities of a gate (voita2019, figure 6); they follow from formulas alone.

A Concrete variable with location log_alpha and temperature τ is stretched to (low, high) = (γ, ζ) and clipped to
[0, 1]: what is clipped becomes a probability of exactly 0 and of exactly 1, the rest keeps a density on (0, 1).
`model.gates` samples it in training; the formulas stand here once more, in numpy, since figures import no torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headcount.figures.style import GREY, LOOKS, PAGE_INCHES, PALE, panel_title, paper_style, save

HEIGHT_INCHES = 2.3
HIGHEST_DENSITY = 3.0
"""Where the axis of the densities ends: the Concrete density has no bound at 0 and 1."""

POINTS = 400
"""Points at which a curve is drawn."""

ZONE = 0.16
"""From the ends of the unit interval to the bars of P(0) and P(1): beyond the stretched interval."""

BAR = 0.12
"""Width of a bar, in units of the gate."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class HardConcrete:
    """The distribution of one gate; low < 0 and high > 1."""

    log_alpha: float
    temperature: float
    low: float
    high: float

    def concrete(self, value: Floats) -> Floats:
        """Density of the Concrete variable at values in (0, 1), before it is stretched."""
        below = 1 / (1 + np.exp(self.log_alpha - self.temperature * np.log(value / (1 - value))))  # P(Concrete < value)
        return np.asarray(below * (1 - below) * self.temperature / (value * (1 - value)))

    def density(self, gate: Floats) -> Floats:
        """Density of the stretched variable at gates in (low, high); on (0, 1) it is that of the gate."""
        width = self.high - self.low
        return self.concrete((gate - self.low) / width) / width

    @property
    def closed(self) -> float:
        """P(gate = 0)."""
        return 1 / (1 + math.exp(self.log_alpha - self.temperature * math.log(-self.low / self.high)))

    @property
    def one(self) -> float:
        """P(gate = 1)."""
        return 1 / (1 + math.exp(self.temperature * math.log((1 - self.low) / (self.high - 1)) - self.log_alpha))


PAPER = tuple(HardConcrete(log_alpha, temperature=0.5, low=-0.1, high=1.1) for log_alpha in (0.0, 2.0, -3.0))
"""The paper's three settings, inferred from the probabilities that its figure prints."""

COLOURS = ("#000000", LOOKS["l0"].colour, LOOKS["round"].colour)
STROKES: tuple[str | tuple[float, tuple[float, ...]], ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)))


def draw(tables: Path, out: Path) -> None:
    """Write the figure to `out` (SVG) and beside it as PDF; no table is read."""
    with paper_style():
        save(_figure(), out)


def _figure() -> Figure:
    figure = Figure(figsize=(PAGE_INCHES, HEIGHT_INCHES), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    panel_title(left, "(a) from Concrete to Hard Concrete")
    _stretching(left, PAPER[0])
    panel_title(right, "(b) Hard Concrete in three locations")
    inside = _inside(0, 1)
    for gate, colour, stroke in zip(PAPER, COLOURS, STROKES, strict=True):
        label = f"log α = {gate.log_alpha:g}".replace("-", "\N{MINUS SIGN}")
        right.plot(inside, gate.density(inside), color=colour, linestyle=stroke, label=label)
    right.legend(loc="upper center", title=f"τ = {PAPER[0].temperature:g}", fontsize=6, title_fontsize=6.5)
    _masses(left, PAPER[:1], labelled=False)
    _masses(right, PAPER, labelled=True)
    left.set_ylabel("density  (lines)")
    left.set_ylim(0, HIGHEST_DENSITY)
    return figure


def _stretching(axes: Axes, gate: HardConcrete) -> None:
    inside, stretched = _inside(0, 1), _inside(gate.low, gate.high)
    axes.plot(inside, gate.concrete(inside), color=GREY, linestyle=(0, (5, 1.5)), label="Concrete")
    axes.plot(
        stretched,
        gate.density(stretched),
        color=LOOKS["reinit"].colour,
        linewidth=2.4,
        alpha=0.7,
        label=f"stretched to ({gate.low:g}, {gate.high:g})".replace("-", "\N{MINUS SIGN}"),
    )
    axes.plot(inside, gate.density(inside), color="black", label="clipped to [0, 1]")
    title = f"log α = {gate.log_alpha:g}, τ = {gate.temperature:g}"
    axes.legend(loc="upper center", title=title, handlelength=1.6, fontsize=6, title_fontsize=6.5)


def _inside(low: float, high: float) -> Floats:
    """Return points between two ends, without them."""
    return np.linspace(low, high, POINTS + 2)[1:-1]


def _masses(axes: Axes, gates: Sequence[HardConcrete], *, labelled: bool) -> None:
    """Draw P(gate = 0) as bars left of the densities and P(gate = 1) right of them, on a scale of their own."""
    wide = BAR * len(PAPER)
    for edge in (-ZONE - wide, 1 + ZONE):
        axes.axvspan(edge - 0.02, edge + wide + 0.02, color=PALE, linewidth=0, zorder=0)
    scale = axes.twinx()
    scale.set_ylim(0, 1)
    for place, (gate, colour) in enumerate(zip(gates, COLOURS, strict=False)):
        middle = (place - (len(gates) - 1) / 2) * BAR + wide / 2
        for x, mass in ((-ZONE - wide + middle, gate.closed), (1 + ZONE + middle, gate.one)):
            scale.bar(x, mass, width=0.8 * BAR, color=colour)
            scale.annotate(
                f"{mass:.2f}", (x, mass), (0, 2), textcoords="offset points", ha="center", fontsize=6, color=colour
            )
    scale.set_yticks([0, 0.5, 1] if labelled else [])
    scale.spines["right"].set_visible(labelled)
    if labelled:
        scale.set_ylabel("P(g = 0), P(g = 1)  (bars)")
    ends = (-ZONE - wide / 2, 1 + ZONE + wide / 2)
    axes.set_xticks([ends[0], 0, 0.5, 1, ends[1]], ["exactly 0", "0", "0.5", "1", "exactly 1"])
    axes.set_xlim(ends[0] - wide / 2 - 0.04, ends[1] + wide / 2 + 0.04)
    axes.set_xlabel("gate g")
