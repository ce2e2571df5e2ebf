"""The files of results, a JSON line for each name, and the tables that README.md shows of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.environments import HERE
from benchmarks.parts import BARS, names

RESULTS = HERE / "results"
README = HERE / "README.md"
BEGIN, END = "<!-- results: written by make bench -->", "<!-- end of results -->"

Record = dict[str, Any]
KEYS = ("name", "ours", "peer", "ratio", "unit", "low", "high", "conditions", "versions")


def read(path: Path) -> dict[str, Record]:
    """Return the newest line of each name."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {record["name"]: record for record in map(json.loads, filter(None, lines))}


def replace(path: Path, records: Iterable[Record]) -> None:
    """Write the records in place of earlier ones of their names, in the order of the comparisons."""
    merged = read(path) | {record["name"]: record for record in records}
    order = {name: place for place, name in enumerate(names())}
    listed = sorted(merged.values(), key=lambda record: (order.get(record["name"], len(order)), record["name"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in listed), encoding="utf-8")


def tables(folder: Path) -> str:
    """Return the Markdown of all files of results."""
    parts = [table(path.stem, read(path)) for path in sorted(folder.glob("*.jsonl"))]
    return "\n".join(parts) or "Nothing has been measured yet.\n"


def table(title: str, records: Mapping[str, Record]) -> str:
    """Return a table of results and the conditions of each."""
    rows = [
        f"### {title}",
        "",
        "| comparison | ours | peer | unit | ours / peer | lowest to highest | wanted | |",
        "| --- | ---: | ---: | --- | ---: | --- | ---: | --- |",
        *map(_row, records.values()),
        "",
    ]
    return "\n".join(rows + [f"- `{name}`: {_told(record)}" for name, record in records.items()]) + "\n"


def _row(record: Record) -> str:
    wanted = BARS.get(record["name"])
    verdict = "" if wanted is None else "reached" if record["ratio"] >= wanted else "missed"
    numbers = [_short(record[key]) for key in ("ours", "peer")]
    cells = [
        f"`{record['name']}`",
        *numbers,
        record["unit"],
        f"**{_short(record['ratio'])}**",
        f"{_short(record['low'])} to {_short(record['high'])}",
        "" if wanted is None else f"{wanted:g}",
        verdict,
    ]
    return f"| {' | '.join(cells)} |"


def _told(record: Record) -> str:
    conditions = record["conditions"]
    said = [f"{key}: {value}" for key, value in conditions.items()] if isinstance(conditions, dict) else [conditions]
    return ". ".join([*said, ", ".join(f"{key} {value}" for key, value in record["versions"].items())]) + "."


def _short(value: float) -> str:
    """Three significant digits, no exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def render(readme: str, folder: Path) -> str:
    """Return the README with the tables of a folder between its markers."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{tables(folder)}\n{END}{after}"


def write_readme() -> None:
    """Write the tables into README.md."""
    README.write_text(render(README.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")


if __name__ == "__main__":
    write_readme()
