from __future__ import annotations

import pytest
import torch

from headcount.errors import UserError
from headcount.train.device import autocast, choose_device


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """What PyTorch says on a machine with two GPUs that have no bfloat16 of their own."""
    for name, answer in {
        "is_available": True,
        "device_count": 2,
        "set_device": None,
        "is_bf16_supported": False,
        "get_device_name": "old GPU",
    }.items():
        monkeypatch.setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.usefixtures("no_gpu")
def test_without_a_gpu():
    assert choose_device("cpu").type == "cpu"
    assert choose_device("auto").type == "cpu"
    with pytest.raises(UserError, match=r"training\.device: cuda"):
        choose_device("cuda")
    for name in ("cpu", "auto"):
        with pytest.raises(UserError, match=r"training\.precision: bfloat16"):
            choose_device(name, "bfloat16")


@pytest.mark.usefixtures("two_gpus")
def test_with_gpus_each_rank_has_one():
    assert choose_device("cpu").type == "cpu"
    for name in ("auto", "cuda"):
        assert [choose_device(name, local_rank=rank) for rank in range(2)] == [
            torch.device("cuda", 0),
            torch.device("cuda", 1),
        ]
        with pytest.raises(UserError, match="rank 2 of this machine needs a GPU of its own, but PyTorch finds 2"):
            choose_device(name, local_rank=2)


@pytest.mark.usefixtures("two_gpus")
def test_imitated_bfloat16_is_refused_and_not_chosen():
    with pytest.raises(UserError, match="which old GPU only imitates"):
        choose_device("auto", "bfloat16")
    with autocast(torch.device("cuda"), "auto"):
        assert not torch.is_autocast_enabled("cuda")


@pytest.mark.usefixtures("two_gpus")
def test_bfloat16_of_its_own_is_chosen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: True)
    with autocast(torch.device("cuda"), "auto"):
        assert torch.is_autocast_enabled("cuda")
        assert torch.get_autocast_dtype("cuda") == torch.bfloat16


@pytest.mark.parametrize(
    ("precision", "expected"), [("auto", torch.float32), ("float32", torch.float32), ("bfloat16", torch.bfloat16)]
)
def test_precision_on_the_cpu(precision: str, expected: torch.dtype):
    with autocast(torch.device("cpu"), precision):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == expected
