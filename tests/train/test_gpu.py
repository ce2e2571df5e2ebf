"""The paths that only a GPU takes: copies that do not wait, bfloat16, decisions left on the device."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from tiny_training import At, Poison, corpus, make_model, run, terminate

from headcount.data.batching import make_batch
from headcount.errors import InterruptedRun
from headcount.train.checkpoint import read
from headcount.train.device import choose_device
from headcount.train.journal import read as read_journal
from headcount.train.loss import batch_loss

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")]


def test_the_loss_is_that_of_the_cpu():
    batch = make_batch(corpus(), range(20))
    losses = []
    for device in (torch.device("cpu"), choose_device("auto")):
        model = make_model(dropout=0.0).to(device)
        loss_sum, _ = batch_loss(model, batch, smoothing=0.1, device=device)
        loss_sum.backward()
        gradient = model.output_weight.grad
        assert gradient is not None
        losses.append((loss_sum.detach().cpu(), gradient.cpu()))
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-4, atol=1e-4)


def test_trains_skips_stops_and_goes_on(tmp_path: Path):
    device = choose_device("cuda")
    poison = Poison(4, 5, value=math.inf)
    with pytest.raises(InterruptedRun):
        run(tmp_path, model=make_model().to(device), precision="auto", hooks=(poison, At(13, terminate)))
    state = read(tmp_path / "checkpoints" / "update-000013.pt")
    assert state["steps"] == 11
    assert {value.device.type for value in state["model"].values()} == {"cpu"}
    model, _ = run(tmp_path, model=make_model().to(device), precision="auto", hooks=(poison,))
    assert {value.dtype for value in model.state_dict().values()} == {torch.float32}
    losses = [line["loss"] for line in read_journal(tmp_path / "journal.jsonl") if "loss" in line]
    assert losses[-1] < losses[0]
