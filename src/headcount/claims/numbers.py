"""A paper's printed numbers and claims, read from `workflow/claims/<paper>.yaml`; what is not understood is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import pandas as pd
import yaml
from pydantic import Field, ValidationError, model_validator

from headcount.claims.verdict import Claim
from headcount.errors import UserError
from headcount.messages import describe
from headcount.registry import nearest
from headcount.settings import Section

COLUMNS = ("paper", "item", "series", "x", "y", "unit", "source")
"""Columns of `paper_numbers.csv`, one number a row; x may be a number or a name."""

KEYS = ("paper", "numbers", "claims")

Part = TypeVar("Part", bound=Section)


class Numbers(Section):
    """Some series of a table or figure over common x; an item may have several such blocks."""

    item: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", description="table or figure: table1, fig7")
    what: str = Field(description="what the numbers are, and what x counts")
    unit: str = Field(description="of the numbers")
    source: str = Field(description="where the numbers come from")
    trust: Literal["high", "exact", "low"] = Field(description="how far the source can be relied on")
    x: tuple[int | float | str, ...] = Field(min_length=1, description="positions or names, shared by the series")
    series: dict[str, tuple[float | None, ...]] = Field(min_length=1, description="name: a number, or null, for each x")

    @model_validator(mode="after")
    def _as_long_as_x(self) -> Self:
        faults = [
            f"series {name}: {len(values)} numbers for {len(self.x)} x"
            for name, values in self.series.items()
            if len(values) != len(self.x)
        ]
        if faults:
            raise ValueError("\n".join(faults))
        return self


@dataclass(frozen=True)
class Paper:
    """What one paper prints and says."""

    paper: str
    numbers: tuple[Numbers, ...]
    claims: tuple[Claim, ...]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the printed numbers one by one, in the order of `COLUMNS`."""
        for block in self.numbers:
            for series, values in block.series.items():
                for x, y in zip(block.x, values, strict=True):
                    if y is not None:
                        yield self.paper, block.item, series, x, y, block.unit, f"{block.source} ({block.trust})"


def papers(folder: Path) -> tuple[str, ...]:
    """List the papers whose claims stand in a folder."""
    return tuple(sorted(path.stem for path in folder.glob("*.yaml")))


def load(folder: Path, paper: str) -> Paper:
    """Read a paper's file of the folder.

    Raises:
        UserError: no such paper, or a fault in its file; one line a fault, with its path and the nearest allowed name.

    """
    path = folder / f"{paper}.yaml"
    if not path.is_file():
        known = papers(folder)
        raise UserError(f"{path}: no such paper{nearest(paper, known)}; allowed: {', '.join(known)}")
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path}: expected the keys {', '.join(KEYS)}, found {type(found).__name__}")
    faults = [f"{key}: unknown key{nearest(str(key), KEYS)}" for key in found if key not in KEYS]
    faults += [f"{key}: missing" for key in KEYS if key not in found]
    if not faults and found["paper"] != paper:
        faults.append(f"paper: {found['paper']!r} is not the name of the file")
    faults += [
        f"{key}: expected a list, found {type(found[key]).__name__}"
        for key in KEYS[1:]
        if not isinstance(found.get(key, []), list)
    ]
    numbers = _parse(found.get("numbers"), Numbers, "numbers", "item", faults)
    claims = _parse(found.get("claims"), Claim, "claims", "claim", faults)
    twice = Counter(claim.claim for claim in claims) + Counter(
        f"{block.item} {series}" for block in numbers for series in block.series
    )
    faults += [f"{name}: stands there twice" for name, times in twice.items() if times > 1]
    if faults:
        raise UserError("\n".join(f"{path}: {fault}" for fault in faults))
    return Paper(paper, tuple(numbers), tuple(claims))


def table(read: Iterable[Paper]) -> pd.DataFrame:
    """Return the printed numbers of some papers, one a row."""
    return pd.DataFrame([row for paper in read for row in paper.rows()], columns=list(COLUMNS))


def _parse(found: Any, kind: type[Part], section: str, name: str, faults: list[str]) -> list[Part]:
    """Parse a list of entries; note what is wrong with them in `faults`."""
    parsed = []
    for place, entry in enumerate(found if isinstance(found, list) else []):
        known = entry.get(name, place) if isinstance(entry, dict) else place
        try:
            parsed.append(kind.model_validate(entry))
        except ValidationError as error:
            faults += [f"{section}.{known}: {line}" for line in describe(error, kind).splitlines()]
    return parsed
