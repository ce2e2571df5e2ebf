"""Where the seconds of an update come from: the best source that knows a training like the one that is planned."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headcount import estimate
from headcount.analysis.rates import ANY_SHAPE, SAME_SHAPE, SAME_STAGE, Rates, of_study, of_table
from headcount.errors import UserError
from headcount.plan import Run

log = logging.getLogger(__name__)

GPU_SHARE = 0.2
"""Part of a GPU's peak that a guess assumes."""

GUESS = "guess"


@dataclass(frozen=True)
class Places:
    """Where finished trainings are looked for.

    Attributes:
        results: folder of the studies that were run here.
        tables: folder of the committed ones.
        config: the complete config file, with which every study begins.
        configs: folder of the overrides, named after their studies.

    """

    results: Path
    tables: Path
    config: Path
    configs: Path


@dataclass
class Sources:
    """Rates of each source, and what a guess needs.

    Attributes:
        own: finished runs of the study itself.
        others: of other studies.
        now: measured here just now.
        committed: of committed tables; their machines are others.
        flops_per_second: what a guess assumes; None: not known.
        updates_now: behind `now`.

    """

    own: Rates = field(default_factory=Rates)
    others: Rates = field(default_factory=Rates)
    now: Rates = field(default_factory=Rates)
    committed: Rates = field(default_factory=Rates)
    flops_per_second: float | None = None
    updates_now: int = 0

    def known(self, run: Run, model: Mapping[str, Any]) -> tuple[float, str] | None:
        """Return seconds per update and name of the source, if a finished training here had this shape and batch."""
        return self._best(
            run,
            model,
            [
                ("this study", self.own, SAME_STAGE),
                ("other studies", self.others, SAME_STAGE),
                ("this study", self.own, SAME_SHAPE),
                ("other studies", self.others, SAME_SHAPE),
            ],
        )

    def seconds_per_update(self, run: Run, model: Mapping[str, Any]) -> tuple[float, str]:
        """Return seconds per update and name of the source.

        Raises:
            UserError: they can only be guessed, and the speed of the GPU is not known.

        """
        further = [("measured now", self.now, SAME_SHAPE), ("committed tables", self.committed, ANY_SHAPE)]
        if found := self.known(run, model) or self._best(run, model, further):
            return found
        if self.flops_per_second is None:
            raise UserError(
                f"{run.run}: no finished training on a GPU tells how long an update takes; give the GPU's peak with "
                "--peak-tflops, or measure on one with --measure"
            )
        return estimate.flops_per_update(run, model) / self.flops_per_second, GUESS

    def _best(
        self, run: Run, model: Mapping[str, Any], order: list[tuple[str, Rates, int]]
    ) -> tuple[float, str] | None:
        for name, rates, depth in order:
            if (seconds := rates.seconds_per_update(run, model, depth)) is not None:
                return seconds, name
        return None


def read(places: Places, study: str, device: str, peak_tflops: float | None) -> Sources:
    """Read every finished training that there is; what cannot be read is named and passed over.

    Args:
        places: where to look.
        study: name of the study that is planned.
        device: cpu or cuda; only trainings on such a one count.
        peak_tflops: of the GPU, for a guess.

    """
    sources = Sources(flops_per_second=estimate.GFLOPS_PER_THREAD * 1e9)
    if device == "cuda":
        sources.flops_per_second = None if peak_tflops is None else GPU_SHARE * peak_tflops * 1e12
    for folder in sorted(path.parent for path in places.results.glob("*/runs")):
        with _named_if_unreadable(folder):
            of_study(sources.own if folder.name == study else sources.others, folder, device)
    for table in sorted(places.tables.glob("*/runs.csv")) if device == "cpu" else []:
        override = places.configs / f"{table.parent.name}.yaml"
        with _named_if_unreadable(table):
            of_table(sources.committed, table, [places.config, *([override] if override.is_file() else [])])
    return sources


@contextlib.contextmanager
def _named_if_unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except UserError as error:
        log.warning("%s tells nothing: %s", path, str(error).splitlines()[0])
