from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from headcount.figures.hard_concrete import PAPER, HardConcrete, _figure, draw
from headcount.figures.style import paper_style
from headcount.model import gates

OTHERS = (HardConcrete(0.7, 0.33, -0.1, 1.1), HardConcrete(-1.2, 2 / 3, -0.3, 1.2))
ALL = [*PAPER, *OTHERS]


def test_masses_are_those_the_paper_prints() -> None:
    printed = [(0.23, 0.23), (0.04, 0.69), (0.86, 0.01)]
    assert [(round(gate.closed, 2), round(gate.one, 2)) for gate in PAPER] == printed


@pytest.mark.parametrize("gate", ALL, ids=str)
def test_masses_are_those_of_the_model(gate: HardConcrete) -> None:
    location = torch.tensor(gate.log_alpha, dtype=torch.float64)
    settings = (location, gate.temperature, gate.low, gate.high)
    assert gate.closed == pytest.approx(gates.probability_closed(*settings).item())
    assert gate.one == pytest.approx(gates.probability_one(*settings).item())


@pytest.mark.parametrize("gate", ALL, ids=str)
def test_density_and_masses_agree_with_samples_of_the_model(gate: HardConcrete) -> None:
    evenly = (torch.arange(200_000, dtype=torch.float64) + 0.5) / 200_000
    location = torch.tensor(gate.log_alpha, dtype=torch.float64)
    samples = gates.sample(location, evenly, gate.temperature, gate.low, gate.high).numpy()
    assert np.mean(samples == 0) == pytest.approx(gate.closed, abs=1e-4)
    assert np.mean(samples == 1) == pytest.approx(gate.one, abs=1e-4)
    edges = np.linspace(0, 1, 11)
    shares = np.histogram(samples[(samples > 0) & (samples < 1)], edges)[0] / len(samples)
    expected = [_integral(gate, low, high) for low, high in pairwise(edges)]
    assert shares == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("gate", ALL, ids=str)
def test_probability_adds_up(gate: HardConcrete) -> None:
    assert gate.closed + gate.one + _integral(gate, 0, 1) == pytest.approx(1, abs=1e-5)


def test_every_mass_has_a_bar_with_its_number() -> None:
    with paper_style():
        figure = _figure()
    numbers = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert numbers == [[], [], ["0.23", "0.23"], ["0.23", "0.23", "0.04", "0.69", "0.86", "0.01"]]
    heights = [bar.get_height() for bar in figure.axes[3].patches]
    assert heights == [mass for gate in PAPER for mass in (gate.closed, gate.one)]


def test_no_table_is_needed(tmp_path: Path) -> None:
    draw(tmp_path / "absent", tmp_path / "figure.svg")
    assert (tmp_path / "figure.pdf").is_file()


def _integral(gate: HardConcrete, low: float, high: float) -> float:
    """Integrate the density by the midpoint rule."""
    middles = low + (high - low) * (np.arange(2000) + 0.5) / 2000
    return float(gate.density(middles).mean() * (high - low))
