from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml
from hand_tables import claim, run, study

from headcount.claims.estimate import Estimate
from headcount.claims.judge import COLUMNS, chosen, judge, rows_of, write
from headcount.claims.numbers import Paper
from headcount.claims.tables import Lacking, Tables
from headcount.claims.verdict import Claim, Outcome, Verdict, at_least
from headcount.errors import UserError

CORPORA = ["en-de", "en-fr", "de-en", "libreoffice", "synthetic"]


def bleu_is_30(tables: Tables, claim: Claim) -> Outcome:
    bleu = tables["runs"]["bleu"]
    if bleu.isna().all():
        raise Lacking("nothing was scored")
    return at_least(Estimate(bleu.mean(), bleu.min(), float("inf") if bleu.min() > 30 else bleu.max()), 30)


@pytest.mark.parametrize(
    ("which", "corpora"),
    [
        ("main", ["en-de"]),
        ("english", ["en-de", "en-fr", "libreoffice"]),
        ("targets", ["en-de", "en-fr"]),
        ("synthetic", ["synthetic"]),
    ],
)
def test_a_word_chooses_corpora(which: str, corpora: list[str]) -> None:
    assert chosen(which, CORPORA) == corpora


def judged(which: str, *bleu: float) -> Outcome:
    tables = study([run("baseline", corpus=corpus, bleu=b) for corpus, b in zip(CORPORA, bleu, strict=False)])
    return judge(claim("t").model_copy(update={"corpus": which}), bleu_is_30, tables)


def test_only_the_named_corpora_count() -> None:
    assert judged("main", 31, 29).verdict == Verdict.REPRODUCED
    assert judged("english", 31, 32, 20).verdict == Verdict.REPRODUCED


def test_of_several_corpora_the_weakest_counts() -> None:
    outcome = judged("english", 31, 29)
    assert (outcome.ours, outcome.verdict) == (29, Verdict.NOT_REPRODUCED)
    assert outcome.note.endswith("en-de yes, en-fr no")


def test_a_corpus_without_the_runs_is_left_out_unless_all_are() -> None:
    nothing = float("nan")
    outcome = judged("english", 31, nothing)
    assert (outcome.ours, outcome.verdict) == (31, Verdict.REPRODUCED)
    assert "en-fr lacks the runs" in outcome.note
    assert judged("english", nothing, nothing).note == "nothing was scored"
    assert judged("english", nothing, nothing).verdict == Verdict.NOT_TESTABLE


def test_an_absent_corpus_cannot_be_tested() -> None:
    outcome = judged("synthetic", 31)
    assert (outcome.ours, outcome.verdict) == (None, Verdict.NOT_TESTABLE)
    assert outcome.note == "the study has no synthetic corpus"


def test_a_comparison_of_corpora_gets_all_of_them() -> None:
    tables = study([run("baseline", corpus=corpus) for corpus in CORPORA])
    seen = []

    def look(tables: Tables, claim: Claim) -> Outcome:
        seen.append(tables.corpora)
        return at_least(Estimate(1, 1, 1), 0)

    together = claim("t").model_copy(update={"corpus": "english", "together": True})
    judge(together, look, tables)
    assert seen == [["en-de", "en-fr", "libreoffice"]]


def test_an_unknown_test_is_refused_with_the_nearest() -> None:
    paper = Paper("p", (), (claim("bleu_is_31"),))
    with pytest.raises(UserError, match=r"claim c: test 'bleu_is_31' is unknown; did you mean 'bleu_is_30'\?"):
        rows_of(paper, {"bleu_is_30": bleu_is_30}, study([run("baseline")]))


def test_an_interval_without_an_end_has_an_empty_cell() -> None:
    (row,) = rows_of(Paper("p", (), (claim("t"),)), {"t": bleu_is_30}, study([run("baseline", bleu=31.0)]))
    assert dict(zip(COLUMNS, row, strict=True)) | {"note": ""} == {
        **{"claim": "c", "paper": "p", "locator": "-", "statement": "-", "paper_value": "-"},
        **{"ours": 31, "low": 31, "high": None, "seeds": 1, "verdict": "reproduced", "note": ""},
    }


def test_both_tables_are_written_and_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    study([run("baseline")]).frames["runs"].to_csv(tmp_path / "tables" / "runs.csv", index=False)
    content = {"paper": "voita2019", "numbers": [], "claims": []}
    (tmp_path / "voita2019.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    for out in ("one", "two"):
        write(tmp_path / "tables", tmp_path, ["voita2019"], tmp_path / out)
    assert list(pd.read_csv(tmp_path / "one" / "claims.csv").columns) == list(COLUMNS)
    for name in ("claims.csv", "paper_numbers.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
