"""The settings of a tiny study, whose runs take a second each."""

from __future__ import annotations

from typing import Any

from headcount.train.checkpoint import Rhythm

EVERY_5_UPDATES = Rhythm(every_updates=5, every_seconds=1e6)

TINY: dict[str, Any] = {
    "study": "tiny",
    "data": {"source": "synthetic", "synthetic": {"pairs": 500}, "dev_sentences": 30, "test_sentences": 40},
    "subword": {"vocabulary": 150},
    "model": {"layers_encoder": 2, "layers_decoder": 1, "width": 16, "heads": 2, "feed_forward": 32},
    "training": {
        "updates": 40,
        "tokens_per_batch": 300,
        "warmup_updates": 10,
        "average_checkpoints": 2,
        "average_every_updates": 5,
        "validate_every_updates": 20,
        "validate_sentences": 10,
    },
    "l0": {"updates": 20, "penalties_encoder": [0.0, 1.0], "penalties_all": [0.0], "gate_learning_rate": 0.5},
    "lottery": {"rewind_update": 10, "round_updates": 5, "heads_per_round": 2, "tickets": [4]},
}
