"""Name the heads of one run by what they look at; free of torch."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.analysis.roles import CRITERIA, named_heads, tested_relations
from headcount.files import atomic_write
from headcount.observe.observation import Observation

if TYPE_CHECKING:  # settings are data here
    from headcount.settings import Roles

log = logging.getLogger(__name__)


def roles(observation: Path, out: Path, *, settings: Roles) -> None:
    """Write the heads that have a role, with the criteria, as JSON."""
    criteria = settings.model_dump(mode="json", include=set(CRITERIA))
    found = Observation.load(observation)
    heads = named_heads(found, criteria)
    result = {"criteria": criteria, "relations": tested_relations(found), "heads": heads}
    atomic_write(out, json.dumps(result, indent=1) + "\n")
    log.info("%d heads have a role: %s", len(heads), out)
