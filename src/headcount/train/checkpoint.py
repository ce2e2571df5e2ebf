"""Resumable checkpoints: whole or not there at all, each of them enough to go on exactly."""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, cast

import torch

from headcount.errors import UserError
from headcount.files import TEMPORARY, atomic_path
from headcount.train.optim import Moments

log = logging.getLogger(__name__)

NEWEST = 2
"""Resumable checkpoints that stay: the newest and, should that be damaged, the one before."""

_DAMAGE = (EOFError, KeyError, OSError, RuntimeError, ValueError, pickle.UnpicklingError)
"""What `torch.load` raises for files that are empty, cut short or no checkpoint at all."""


class State(TypedDict):
    """All that training needs to go on: tensors, numbers and plain containers only.

    Random numbers are a function of seed and update and therefore not part of it.
    """

    update: int
    position: int
    """Batches consumed since the start of training."""
    tokens: int
    """Real target tokens trained on."""
    seconds: float
    """Wall time spent by all processes of the run."""
    cpu_seconds: float
    """Their CPU time."""
    model: dict[str, torch.Tensor]
    moments: Moments
    steps: int
    """Adam's step count."""
    average: dict[str, Any] | None
    """State of `Average`; None: no point reached."""
    meter: list[float] | None
    """State of `Meter`; None: nothing measured since the last journal line."""


@dataclass(frozen=True)
class Rhythm:
    """How far apart checkpoints are at most; it decides no result."""

    every_updates: int
    every_seconds: float


class Checkpoints:
    """The checkpoints of one run in a folder that nobody else writes to.

    Args:
        folder: holds `update-000100.pt` and so on; created when needed.
        identity: hash of everything that decides the run's result; files of another identity are not resumed from.
        rhythm: when the next one is due.
        keep: updates whose checkpoint is made and never deleted.
        check_owner: called before each change; raises when the folder belongs to another process by now.

    """

    def __init__(
        self,
        folder: Path,
        *,
        identity: str,
        rhythm: Rhythm,
        keep: Collection[int] = (),
        check_owner: Callable[[], None] = lambda: None,
    ) -> None:
        self.folder = folder
        self._identity = identity
        self._rhythm = rhythm
        self.keep = frozenset(keep)
        self._check_owner = check_owner
        self._last_save = time.monotonic()  # or the start of this process
        for stale in folder.glob(f".*{TEMPORARY}"):
            stale.unlink(missing_ok=True)

    def path(self, update: int) -> Path:
        """Return where the checkpoint of an update is or would be."""
        return self.folder / f"update-{update:06d}.pt"

    def due(self, update: int) -> bool:
        """Say whether the update just made is to be saved: by its number, by the time since the last, or for good."""
        late = time.monotonic() - self._last_save >= self._rhythm.every_seconds
        return late or update % self._rhythm.every_updates == 0 or update in self.keep

    def save(self, state: State) -> None:
        """Write a checkpoint and delete those that are no longer needed.

        Raises:
            UserError: the disk is full; all earlier checkpoints are still there.

        """
        update = state["update"]
        self._check_owner()
        # An open file instead of its name: then a full disk is an OSError that says so.
        with atomic_path(self.path(update)) as temporary, temporary.open("wb") as handle:
            torch.save({"identity": self._identity, **state}, handle)
            self._check_owner()  # writing took its time
        self._last_save = time.monotonic()
        newest = [number for number in self._updates() if number <= update][-NEWEST:]
        for number in self._updates():
            if number not in newest and (number not in self.keep or number > update):
                self.path(number).unlink(missing_ok=True)

    def latest(self) -> State | None:
        """Return the newest usable checkpoint; damaged ones and those of other settings are named and passed over."""
        for update in reversed(self._updates()):
            path = self.path(update)
            try:
                state = read(path)
            except UserError as error:
                log.warning("%s; trying the one before", error)
                continue
            if state.get("identity") != self._identity:
                log.warning("%s belongs to other settings and is not resumed from; it will be replaced", path)
                continue
            log.info("going on from %s", path)
            return state
        return None

    def newest(self) -> str:
        """Name the newest checkpoint for a message."""
        updates = self._updates()
        return str(self.path(updates[-1])) if updates else "none yet"

    def _updates(self) -> list[int]:
        return sorted(int(path.stem.removeprefix("update-")) for path in self.folder.glob("update-*.pt"))


def read(path: Path) -> State:
    """Read one checkpoint onto the CPU.

    Raises:
        UserError: the file is missing or damaged.

    """
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise UserError(f"{path}: no such checkpoint") from None
    except _DAMAGE as error:
        raise UserError(f"{path} is damaged ({type(error).__name__}: {_first_line(error)})") from None
    if not isinstance(loaded, dict) or not State.__required_keys__ <= loaded.keys():
        raise UserError(f"{path} is not a checkpoint of this program")
    return cast(State, loaded)


def branch(state: State, *, model: dict[str, torch.Tensor], moments: Moments) -> State:
    """Return the start of another run at the same place of the training: own weights and moments, own clock.

    Update, position in the data, tokens and Adam's step count go on; averages, means and seconds start anew.
    """
    anew: dict[str, Any] = {"seconds": 0.0, "cpu_seconds": 0.0, "average": None, "meter": None}
    return cast(State, {**state, **anew, "model": model, "moments": moments})


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["empty file"])[0]
