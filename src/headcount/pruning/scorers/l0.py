"""Score a head by the probability that its gate stays open when an L0 penalty is learned for a while (voita2019)."""

from __future__ import annotations

import copy
import functools

import numpy as np
import numpy.typing as npt
import torch

from headcount.data.batching import TokenBatches
from headcount.data.encoded import Encoded
from headcount.model.transformer import Transformer
from headcount.pruning.l0 import attach, gates
from headcount.pruning.ranking import by_layer
from headcount.train.loss import batch_loss
from headcount.train.optim import Group, NamedAdam, constant, trainable

STEPS, TOKENS_PER_BATCH = 100, 450
"""About what one lottery round of the default study costs."""

LEARNING_RATE = 0.05
"""Of log α: a gate can travel 5, enough to tell heads apart and too little for P(g ≠ 0) to be rounded to 0 or 1."""

PENALTY = 0.01
"""λ in nats per target token for each open head. In the default study it closes 42 of 72 gates early in training and 20
late; with 0.003 heads are ranked less alike from seed to seed (Spearman's ρ late 0.69, not 0.85), 0.03 closes 64."""

INITIAL_LOG_ALPHA = 0.0
"""Gates start half open: far open ones, 2.5 as in fine-tuning, are nearly always 1, and then have no gradient."""

HARD_CONCRETE = {"temperature": 0.33, "low": -0.1, "high": 1.1}
"""As in the paper."""


def score_heads(model: Transformer, corpus: Encoded, *, seed: int) -> dict[str, list[npt.NDArray[np.float64]]]:
    """Learn the gates of all heads together on the corpus, with the model's weights as they are, and read P(g ≠ 0).

    Dropout is off: only the gates draw. The model itself is not touched.

    Args:
        model: the model after its round of training.
        corpus: the dev set.
        seed: of the batches and the gates.

    Raises:
        UserError: the corpus is empty.

    """
    device = model.output_weight.device
    gated = copy.deepcopy(model).eval()
    attach(
        gated,
        scope="all",
        initial_log_alpha=INITIAL_LOG_ALPHA,
        initial_spread=0.0,
        seed=seed,
        at_test="binary",
        **HARD_CONCRETE,
    )
    gated.requires_grad_(False)
    found = {place: gate.train().requires_grad_(True) for place, gate in gates(gated).items()}
    rate = functools.partial(constant, rate=LEARNING_RATE)
    adam = NamedAdam([Group(trainable(gated), rate)], beta1=0.9, beta2=0.98)
    batches = TokenBatches(corpus, tokens_per_batch=TOKENS_PER_BATCH, seed=seed)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        for step in range(STEPS if found else 0):
            batch = batches.at(step)
            loss, _ = batch_loss(gated, batch, smoothing=0.0, device=device)
            opened = torch.stack([gate.expected_open().sum() for gate in found.values()]).sum()
            objective = loss / batch.target_tokens + PENALTY * opened
            adam.zero_grad()
            objective.backward()  # type: ignore[no-untyped-call]
            adam.step(step + 1, clip_norm=0.0, loss=objective.detach())
    scores = {place: gate.expected_open().detach().double().cpu().numpy() for place, gate in found.items()}
    return by_layer(scores, model.config.kept)
