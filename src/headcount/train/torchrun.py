"""Whether this process is a rank of a training; free of torch, since every verb may have to know."""

from __future__ import annotations

import os

STARTED_BY = "TORCHELASTIC_RUN_ID"
"""Environment variable that torchrun sets; RANK and WORLD_SIZE alone may be left over from somebody else's job."""


def is_rank() -> bool:
    """Tell whether torchrun started this process."""
    return STARTED_BY in os.environ
