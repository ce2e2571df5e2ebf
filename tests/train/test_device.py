from __future__ import annotations

import pytest
import torch

from headcount.errors import UserError
from headcount.train.device import autocast, choose_device


@pytest.mark.parametrize("present", [False, True])
def test_choice(monkeypatch: pytest.MonkeyPatch, present: bool):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: present)
    assert choose_device("cpu").type == "cpu"
    assert choose_device("auto").type == ("cuda" if present else "cpu")
    if present:
        assert choose_device("cuda").type == "cuda"
    else:
        with pytest.raises(UserError, match=r"training\.device: cuda"):
            choose_device("cuda")


@pytest.mark.parametrize(
    ("precision", "expected"), [("auto", torch.float32), ("float32", torch.float32), ("bfloat16", torch.bfloat16)]
)
def test_precision_on_the_cpu(precision: str, expected: torch.dtype):
    with autocast(torch.device("cpu"), precision):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == expected
