"""Programs from outside that some tests need; where they are absent the tests are skipped, but never in .ci/run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

CI = os.environ.get("HEADCOUNT_CI") == "1"
"""Whether .ci/run has installed everything: a test that is not run is then a failure."""

ASIDE = ["/usr/sbin", *map(str, Path("/usr/lib/postgresql").glob("*/bin"))]
"""Where Debian keeps programs that are not on everybody's path."""


def needs(*programs: str) -> list[str]:
    """Return the paths of the programs; call it first in a fixture or test, which is skipped where one is absent."""
    path = os.pathsep.join([os.environ["PATH"], *ASIDE])
    found = {program: shutil.which(program, path=path) for program in programs}
    missing = [program for program, place in found.items() if place is None]
    if missing:
        do_without(f"not installed: {', '.join(missing)}")
    return [place for place in found.values() if place]


def do_without(reason: str) -> None:
    """Skip the test that asks, or fail it where continuous integration was told that nothing is lacking."""
    if CI:
        pytest.fail(f"{reason}; HEADCOUNT_CI=1 says that .ci/run has provided for it", pytrace=False)
    pytest.skip(reason)
