from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from headcount.claims.tables import Lacking, Tables, read
from headcount.errors import UserError


def test_texts_stay_texts(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(
        "run,corpus,variant,scope,partner,bleu\nbaseline-s1,en-de,0.0010,,,30.5\n", encoding="utf-8"
    )
    (tmp_path / "roles.csv").write_text("run,corpus,role,value\nbaseline-s1,en-de,-1,0.5\n", encoding="utf-8")
    (tmp_path / "maps.csv").write_text("corpus,key_token,weight\nen-de,null,\n", encoding="utf-8")
    speeds = "run,corpus,timed_run\nreinit-18-s1,en-de,\n"
    (tmp_path / "speeds.csv").write_text(speeds, encoding="utf-8")
    tables = read(tmp_path)
    assert tables["roles"]["role"].tolist() == ["-1"]
    assert tables["runs"][["variant", "partner"]].to_numpy().tolist() == [["0.0010", ""]]
    assert tables["speeds"]["timed_run"].tolist() == [""]
    assert tables["runs"]["scope"].tolist() == [""]
    assert tables["maps"]["key_token"].tolist() == ["null"]
    assert tables["maps"]["weight"].isna().all()


def test_our_own_tables_are_not_read(tmp_path: Path) -> None:
    for name in ("runs", "claims", "paper_numbers"):
        (tmp_path / f"{name}.csv").write_text("corpus\nx\n", encoding="utf-8")
    assert set(read(tmp_path).frames) == {"runs"}


def test_without_runs_there_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"runs\.csv: no such table; run `headcount analyse` first"):
        read(tmp_path)


def test_corpora_keep_their_order_and_can_be_chosen() -> None:
    runs = pd.DataFrame({"corpus": ["b", "b", "a"], "run": [1, 2, 3]})
    tables = Tables({"runs": runs, "other": pd.DataFrame({"x": [1]})})
    assert tables.corpora == ["b", "a"]
    assert tables.only(["a"])["runs"]["run"].tolist() == [3]
    assert tables.only(["a"])["other"]["x"].tolist() == [1]


def test_an_absent_or_empty_table_is_lacking() -> None:
    tables = Tables({"runs": pd.DataFrame({"corpus": ["a"]})})
    for name, chosen in (("roles", tables), ("runs", tables.only(["b"]))):
        with pytest.raises(Lacking, match=rf"no rows in {name}\.csv"):
            chosen[name]
