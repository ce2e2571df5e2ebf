from __future__ import annotations

import errno
import logging
from pathlib import Path

import pytest
import torch

from headcount.errors import UserError
from headcount.train.checkpoint import Checkpoints, State, branch, read


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
    checkpoints = Checkpoints(folder, identity=of, keep=keep)
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
    checkpoints = Checkpoints(tmp_path / "none", identity="a")
    assert checkpoints.latest() is None
    assert checkpoints.newest() == "none yet"


def test_the_last_two_and_the_kept_ones_stay(tmp_path: Path):
    _saved(tmp_path, 10, 20, 30, 40, 50, keep=(20,))
    assert _names(tmp_path) == ["update-000020.pt", "update-000040.pt", "update-000050.pt"]


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
    changed = Checkpoints(tmp_path, identity="b", keep=(10, 30))
    assert changed.latest() is None
    assert "update-000030.pt belongs to other settings" in caplog.text
    changed.save(_state(5))
    assert _names(tmp_path) == ["update-000005.pt"]
    assert _latest_update(changed) == 5


def test_stale_temporary_files_are_cleaned(tmp_path: Path):
    _saved(tmp_path, 10)
    stale = tmp_path / ".update-000020.pt.123.partial"
    stale.write_bytes(b"half")
    assert _latest_update(Checkpoints(tmp_path, identity="a")) == 10
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


def test_a_really_full_device_says_so():
    with pytest.raises(OSError, match="No space left"), Path("/dev/full").open("wb") as handle:
        torch.save(_state(1), handle)  # an open file, as `Checkpoints.save` writes it


def test_a_branch_keeps_the_place_and_nothing_else():
    state = branch(_state(10), model={"weight": torch.zeros(3)}, moments={"exp_avg": {}, "exp_avg_sq": {}})
    assert (state["update"], state["position"], state["tokens"], state["steps"]) == (10, 20, 1000, 10)
    assert (state["seconds"], state["cpu_seconds"]) == (0.0, 0.0)
    assert state["average"] is state["meter"] is None
    assert state["model"]["weight"].shape == (3,)
