from __future__ import annotations

import errno
import logging
from pathlib import Path

import pytest
import torch

from headcount.errors import FolderInUseError, UserError
from headcount.train.checkpoint import Checkpoints, Rhythm, State, branch, read

RHYTHM = Rhythm(every_updates=10, every_seconds=1e6)


def _state(update: int) -> State:
    value = torch.full((50,), float(update))
    return {
        "update": update,
        "position": 2 * update,
        "tokens": 100 * update,
        "seconds": 1.5,
        "cpu_seconds": 1.25,
        "model": {"weight": value},
        "moments": {"exp_avg": {"weight": value}, "exp_avg_sq": {"weight": value}},
        "steps": update,
        "average": {"count": 0, "sum": {}},
        "meter": [0.0] * 8,
    }


def _saved(folder: Path, *updates: int, of: str = "a", keep: tuple[int, ...] = ()) -> Checkpoints:
    checkpoints = Checkpoints(folder, identity=of, rhythm=RHYTHM, keep=keep)
    for update in updates:
        checkpoints.save(_state(update))
    return checkpoints


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _latest_update(checkpoints: Checkpoints) -> int | None:
    state = checkpoints.latest()
    return None if state is None else state["update"]


def test_goes_round(tmp_path: Path):
    checkpoints = _saved(tmp_path, 10)
    state = checkpoints.latest()
    assert state is not None
    assert {key: state[key] for key in ("update", "position", "tokens", "seconds", "cpu_seconds", "steps")} == {
        "update": 10,
        "position": 20,
        "tokens": 1000,
        "seconds": 1.5,
        "cpu_seconds": 1.25,
        "steps": 10,
    }
    assert torch.equal(state["model"]["weight"], torch.full((50,), 10.0))


def test_nothing_yet(tmp_path: Path):
    checkpoints = Checkpoints(tmp_path / "none", identity="a", rhythm=RHYTHM)
    assert checkpoints.latest() is None
    assert checkpoints.newest() == "none yet"


def test_the_last_two_and_the_kept_ones_stay(tmp_path: Path):
    _saved(tmp_path, 10, 20, 30, 40, 50, keep=(20,))
    assert _names(tmp_path) == ["update-000020.pt", "update-000040.pt", "update-000050.pt"]


def test_due_by_number_by_time_and_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now = 1000.0
    monkeypatch.setattr("headcount.train.checkpoint.time.monotonic", lambda: now)
    checkpoints = Checkpoints(tmp_path, identity="a", rhythm=Rhythm(every_updates=10, every_seconds=60), keep=(7,))
    assert [update for update in range(1, 25) if checkpoints.due(update)] == [7, 10, 20]
    now += 59
    assert not checkpoints.due(25)
    now += 1
    assert checkpoints.due(25)  # time counts from the start of this process
    checkpoints.save(_state(25))
    assert not checkpoints.due(26)
    now += 60
    assert checkpoints.due(26)  # and then from its last save


@pytest.mark.parametrize("damage", ["half", "empty", "text", "tail"])
def test_a_damaged_file_is_named_and_the_one_before_taken(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
):
    checkpoints = _saved(tmp_path, 10, 20)
    path = checkpoints.path(20)
    whole = path.read_bytes()
    path.write_bytes(
        {"half": whole[: len(whole) // 2], "empty": b"", "text": b"hello " * 99, "tail": whole[:-3]}[damage]
    )
    with caplog.at_level(logging.INFO):
        assert _latest_update(checkpoints) == 10
    assert f"{path} is damaged" in caplog.text
    assert f"going on from {checkpoints.path(10)}" in caplog.text
    with pytest.raises(UserError, match=r"update-000020\.pt is damaged"):
        read(path)


def test_a_pickle_of_something_else_is_not_a_checkpoint(tmp_path: Path):
    path = tmp_path / "update-000001.pt"
    torch.save({"weight": torch.ones(1)}, path)
    with pytest.raises(UserError, match="not a checkpoint"):
        read(path)
    torch.save(Path("x"), path)  # an object that the safe loader refuses
    with pytest.raises(UserError, match="damaged"):
        read(path)
    with pytest.raises(UserError, match="no such checkpoint"):
        read(tmp_path / "update-000002.pt")


def test_other_settings_start_afresh_and_replace(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    _saved(tmp_path, 10, 20, 30, of="a", keep=(10, 30))
    changed = Checkpoints(tmp_path, identity="b", rhythm=RHYTHM, keep=(10, 30))
    assert changed.latest() is None
    assert "update-000030.pt belongs to other settings" in caplog.text
    changed.save(_state(5))
    assert _names(tmp_path) == ["update-000005.pt"]
    assert _latest_update(changed) == 5


def test_stale_temporary_files_are_cleaned(tmp_path: Path):
    _saved(tmp_path, 10)
    stale = tmp_path / ".update-000020.pt.123.partial"
    stale.write_bytes(b"half")
    assert _latest_update(Checkpoints(tmp_path, identity="a", rhythm=RHYTHM)) == 10
    assert not stale.exists()


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    checkpoints = _saved(tmp_path, 10, 20)

    def full(state: object, handle: object) -> None:
        handle.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(UserError, match=r"update-000030\.pt: no space left"):
        checkpoints.save(_state(30))
    monkeypatch.undo()
    assert _names(tmp_path) == ["update-000010.pt", "update-000020.pt"]
    assert _latest_update(checkpoints) == 20


@pytest.mark.parametrize("lost_at", [1, 2])
def test_a_folder_lost_before_or_while_a_checkpoint_is_written_gets_none(tmp_path: Path, lost_at: int):
    _saved(tmp_path, 10, 20)
    checks = []

    def check_owner() -> None:
        checks.append(sorted(path.suffix for path in tmp_path.iterdir()))
        if len(checks) == lost_at:
            raise FolderInUseError("taken over")

    mine = Checkpoints(tmp_path, identity="a", rhythm=RHYTHM, check_owner=check_owner)
    with pytest.raises(FolderInUseError):
        mine.save(_state(30))
    assert _names(tmp_path) == ["update-000010.pt", "update-000020.pt"]
    assert checks[1:] == [[".partial", ".pt", ".pt"]][: lost_at - 1]  # the second check comes once all is written


def test_a_really_full_device_says_so():
    with pytest.raises(OSError, match="No space left"), Path("/dev/full").open("wb") as handle:
        torch.save(_state(1), handle)  # an open file, as `Checkpoints.save` writes it


def test_a_branch_keeps_the_place_and_nothing_else():
    state = branch(_state(10), model={"weight": torch.zeros(3)}, moments={"exp_avg": {}, "exp_avg_sq": {}})
    assert (state["update"], state["position"], state["tokens"], state["steps"]) == (10, 20, 1000, 10)
    assert (state["seconds"], state["cpu_seconds"]) == (0.0, 0.0)
    assert state["average"] is state["meter"] is None
    assert state["model"]["weight"].shape == (3,)
