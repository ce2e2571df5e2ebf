from __future__ import annotations

import functools

import torch
import torch.nn.functional as F  # noqa: N812
from small_models import SENTENCES, model

from headcount.evaluate.profile import KINDS, seconds_by_kind
from headcount.model.decode import translate


def test_time_is_told_by_kind() -> None:
    wide = torch.ones(300, 300)
    seconds = seconds_by_kind(lambda: [F.linear(wide, wide) for _ in range(5)])
    assert set(seconds) == set(KINDS.values())
    assert seconds["matrix_products"] > 0
    assert seconds["attention"] == seconds["cache"] == 0


def test_decoding_has_every_kind_and_a_layer_without_heads_no_attention() -> None:
    search = functools.partial(
        translate, sources=SENTENCES, beam=2, length_penalty=0.6, max_length=(1.0, 4), sentences_per_batch=2
    )
    dense = seconds_by_kind(lambda: search(model()))
    assert all(dense[kind] > 0 for kind in KINDS.values())
    none = model(encoder=[[]], decoder_self=[[]], decoder_cross=[[]])
    assert seconds_by_kind(lambda: search(none))["attention"] == 0
