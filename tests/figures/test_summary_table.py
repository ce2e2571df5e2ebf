from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from headcount.figures.cells import p_value
from headcount.figures.groups import groups, tried
from headcount.figures.summary_table import COLUMNS, _bleu, _delta, _method, _setting, draw
from headcount.figures.tabular import Cell

NUMBERS = (
    *("heads_encoder", "heads_decoder_self", "heads_decoder_cross", "bleu_without_near_duplicates", "chrf"),
    *("parameters", "decode_seconds_per_sentence", "speedup", "train_seconds"),
)


def rows_of(markdown: str) -> list[list[str]]:
    return [line.strip("|").split("|") for line in markdown.splitlines() if line.startswith("|")]


def run(seed: int, **values: object) -> dict[str, object]:
    ticket = {"method": "ticket", "scope": "all", "setting": "1 of 2 heads", "penalty": float("nan"), "heads": 1}
    return {**ticket, "seed": seed, "bleu": 20.0, "bleu_low": 19.0, "bleu_high": 21.0, "suspect": False, **values}


def test_html_and_markdown_say_the_same(tables_of: Callable[..., Path], tmp_path: Path) -> None:
    draw(tables_of(), tmp_path / "summary.html")
    markdown = (tmp_path / "summary.md").read_text(encoding="utf-8")
    cells = [cell.strip() for row in rows_of(markdown)[2:] for cell in row]
    page = Cells()
    page.feed((tmp_path / "summary.html").read_text(encoding="utf-8"))
    assert page.body == cells
    assert len(cells) % len(COLUMNS) == 0


def test_the_page_needs_no_other_file(tables_of: Callable[..., Path], tmp_path: Path) -> None:
    draw(tables_of(), tmp_path / "summary.html")
    page = (tmp_path / "summary.html").read_text(encoding="utf-8")
    assert not any(word in page for word in ("http:", "https:", "src=", "<script", "<link"))


def test_every_model_has_a_row_and_rounds_have_a_note(tables_of: Callable[..., Path], tmp_path: Path) -> None:
    draw(tables_of(), tmp_path / "summary.html")
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert len(rows_of(text)) - 2 == 1 + 2 + 5 + 3 + 2 * 2 + 1
    assert "The 6 lottery rounds of a seed took another" in text
    assert "equal translations in 10 of 10 models" in text
    assert "λ = 0 (control)" in text


def test_cells_of_one_seed() -> None:
    (group,) = groups(pd.DataFrame([run(1, bleu_delta=-1.25, p_value=0.0004)]))
    assert _bleu(group) == "20.00 [19.00, 21.00]"
    assert _delta(group) == Cell("\N{MINUS SIGN}1.25", bold=True)
    assert p_value(group) == "< 0.001"


def test_cells_of_several_seeds() -> None:
    scored = [run(1, bleu_delta=-1.0, p_value=0.01), run(2, bleu=22.0, bleu_delta=1.0, p_value=0.6)]
    (group,) = groups(pd.DataFrame(scored))
    assert _bleu(group) == "21.00 ± 1.41"
    assert _delta(group) == Cell("+0.00 ± 1.41", bold=False)
    assert p_value(group) == "1 of 2"


def test_an_empty_output_is_pointed_at() -> None:
    (group,) = groups(pd.DataFrame([run(1, bleu=0.0, bleu_low=0.0, bleu_high=0.0, suspect=True)]))
    assert _bleu(group).endswith("(empty output!)")


@pytest.mark.parametrize("seeds", [(1,), (1, 2)])
def test_no_cell_breaks_the_markdown(tables_of: Callable[..., Path], tmp_path: Path, seeds: tuple[int, ...]) -> None:
    draw(tables_of(seeds=seeds), tmp_path / "summary.html")
    rows = rows_of((tmp_path / "summary.md").read_text(encoding="utf-8"))
    assert {len(row) for row in rows} == {len(COLUMNS)}


@pytest.mark.parametrize(
    ("values", "method", "setting"),
    [
        (
            {"method": "l0", "scope": "encoder", "setting": "λ=0", "penalty": 0.0},
            "L0 gates, encoder",
            "λ = 0 (control)",
        ),
        ({"method": "l0", "setting": "target 6 heads"}, "L0 gates, all", "target 6 heads"),
        ({"method": "scratch", "setting": "λ=0.03"}, "trained from scratch, all", "λ = 0.03"),
        ({"method": "unnamed", "scope": "encoder", "setting": ""}, "unnamed heads removed, encoder", ""),
        ({"method": "ticket", "variant": "random"}, "ticket of random heads", "1 of 2 heads"),
        ({"method": "smaller", "variant": "narrow", "setting": "narrow"}, "smaller dense model, narrow", ""),
        ({"method": "l0", "parent_normaliser": "entmax15", "setting": "λ=1"}, "L0 gates of 1.5-entmax, all", "λ = 1"),
    ],
)
def test_every_method_says_what_it_is(values: dict[str, object], method: str, setting: str) -> None:
    (group,) = tried(pd.DataFrame([run(1, **values)]))
    assert (_method(group).text, _setting(group)) == (method, setting)


def test_several_corpora_get_a_column(tmp_path: Path) -> None:
    values = dict.fromkeys([*NUMBERS, "p_value", "identical_outputs", "bleu_delta"])
    rows = [run(1, run=f"{corpus}-s1", corpus=corpus, **values) for corpus in ("en-de", "en-fr")]
    pd.DataFrame(rows).to_csv(tmp_path / "runs.csv", index=False)
    draw(tmp_path, tmp_path / "summary.html")
    table = rows_of((tmp_path / "summary.md").read_text(encoding="utf-8"))
    assert [row[0].strip() for row in table] == ["corpus", "---", "en-de", "en-fr"]


class Cells(HTMLParser):
    """Collects the texts of the table's body."""

    def __init__(self) -> None:
        super().__init__()
        self.body: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside |= tag == "tbody"
        if self._inside and tag in ("th", "td"):
            self.body.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside &= tag != "tbody"

    def handle_data(self, data: str) -> None:
        if self._inside and self.body:
            self.body[-1] += data.strip("\n")
