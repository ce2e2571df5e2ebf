"""What is measured: the parts of `make bench`, each a process of its own, and the lines that they yield."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headcount.errors import UserError
from headcount.registry import nearest


@dataclass(frozen=True)
class Part:
    """Some lines that one module measures together.

    Attributes:
        module: of this package, with `compare(names) -> lines`.
        lines: name of each -> the peer whose environment it needs, or none.
        seconds: of a line on an idle core, for the estimate of the time left.

    """

    module: str
    lines: Mapping[str, str]
    seconds: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the lines."""
        return tuple(self.lines)

    @property
    def expected(self) -> int:
        """Seconds of all lines."""
        return self.seconds * len(self.lines)

    def only(self, asked: Sequence[str]) -> Part:
        """Return the part with no other lines than those that are asked for."""
        return replace(self, lines={name: peer for name, peer in self.lines.items() if name in asked})


NONE = ""

PARTS = (
    Part("entmax_calls", {"entmax_vs_bisect50": NONE}, 80),
    Part("entmax_calls", {"entmax15_vs_sort": NONE}, 25),
    Part("entmax_step", {"step_entmax_vs_softmax": NONE}, 30),
    Part("gemm", {"gemm_share": NONE}, 25),
    Part(
        "training",
        {
            "train_vs_eole": "eole",
            "train_vs_opennmt": "opennmt",
            "train_vs_hf": "hf",
            "train_vs_joeynmt": "joeynmt",
        },
        85,
    ),
    Part("decoding", {"decode_vs_hf": "hf"}, 90),
    Part("decoding", {"decode_vs_ct2": "hf", "decode_vs_ct2_int8": "hf"}, 35),
    Part("removed", {"removed_beam4": NONE, "removed_greedy": NONE}, 40),
    Part("study", {"study_wall": NONE}, 1000),  # last: all others take a quarter of an hour
)

BARS = {
    "entmax_vs_bisect50": 8.0,
    "entmax15_vs_sort": 8.0,
    "step_entmax_vs_softmax": 0.92,
    "train_vs_eole": 1.3,
    "train_vs_opennmt": 1.3,
    "train_vs_hf": 1.3,
    "train_vs_joeynmt": 3.0,
    "gemm_share": 0.55,
    "decode_vs_hf": 1.3,
    "decode_vs_ct2": 0.8,
    "removed_beam4": 1.4,
    "removed_greedy": 1.5,
    "study_wall": 1.0,
}
"""The least ratio that the project wants to reach; a line without one is only told of."""


def names() -> list[str]:
    """Return the names of all lines, in the order in which they are measured."""
    return [name for part in PARTS for name in part.lines]


def chosen(asked: Sequence[str]) -> list[Part]:
    """Return the parts that yield the names, each reduced to them; no name means all.

    Raises:
        UserError: a name is unknown.

    """
    for name in asked:
        if name not in names():
            raise UserError(f"comparison {name!r} is unknown{nearest(name, names())}; allowed: {', '.join(names())}")
    parts = [part.only(asked or names()) for part in PARTS]
    return [part for part in parts if part.lines]
