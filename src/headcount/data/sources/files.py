"""The user's own parallel text: two aligned files or one TSV, exactly the files that the settings name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.data.text import Drops, Pairs, Rows, read_rows
from headcount.errors import UserError

if TYPE_CHECKING:  # settings are data here: a new key elsewhere must not prepare a corpus again
    from headcount.settings import Data


def read(settings: Data) -> Pairs:
    """Read whole pairs with their line numbers.

    Raises:
        UserError: a file is missing, is named twice, or the two files differ in their number of lines.

    """
    files = [read_rows(path) for path in _paths(settings)]
    drops = Drops()
    kept = list(_columns(files[0], drops) if len(files) == 1 else _side_by_side(files, drops))
    return Pairs(
        name="files",
        sources=[source for _, source, _ in kept],
        targets=[target for _, _, target in kept],
        rows=[row for row, _, _ in kept],
        licence=settings.files.licence,
        attribution=settings.files.attribution,
        origin={"files": [rows.origin for rows in files]},
        drops=drops,
        notes=sum((rows.notes for rows in files), Counter()),
    )


def reachable(settings: Data) -> str:
    """Return the sizes of the files, or raise UserError when one of them is missing or empty."""
    sizes = []
    for path in _paths(settings):
        if not path.is_file():
            read_rows(path)  # raises with the nearest name
        if not path.stat().st_size:
            raise UserError(f"{path}: the file is empty")
        sizes.append(f"{path} ({path.stat().st_size:,} bytes)")
    return ", ".join(sizes)


def _paths(settings: Data) -> list[Path]:
    files = settings.files
    named = {"tsv": files.tsv} if files.tsv else {"source": files.source, "target": files.target}
    for key, value in named.items():
        if not value:
            raise UserError(f"data.files.{key}: empty; give data.files.tsv, or both source and target")
    paths = [Path(value).expanduser() for value in named.values()]
    if len(paths) == 2 and paths[0].resolve() == paths[1].resolve():
        raise UserError(f"data.files: source and target are the same file {paths[0]}")
    return paths


def _side_by_side(files: list[Rows], drops: Drops) -> Iterator[tuple[int, str, str]]:
    """Yield row number and both sentences of every sound row."""
    source, target = files
    if len(source.texts) != len(target.texts):
        raise UserError(
            f"data.files: {source.origin['file']} has {len(source.texts):,} lines but {target.origin['file']} has "
            f"{len(target.texts):,}; line i of one must translate line i of the other"
        )
    for row, (source_text, target_text) in enumerate(zip(source.texts, target.texts, strict=True), start=1):
        if fault := source.faults.get(row) or target.faults.get(row):
            drops.add(fault[0], row, fault[1])
        else:
            yield row, source_text, target_text


def _columns(table: Rows, drops: Drops) -> Iterator[tuple[int, str, str]]:
    """Yield row number and both columns of every sound row."""
    for row, text in enumerate(table.texts, start=1):
        columns = text.split("\t")
        if fault := table.faults.get(row):
            drops.add(fault[0], row, fault[1])
        elif len(columns) != 2:
            drops.add("not two columns", row, f"{len(columns)} column{'s' if len(columns) > 1 else ''}")
        else:
            yield row, columns[0], columns[1]
