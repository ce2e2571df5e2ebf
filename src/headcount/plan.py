"""Settings → the table of runs of a study: id, stage, parents, complete settings; free of torch.

A run is one folder, `results/<study>/runs/<run>/`. Its settings hold everything that decides its result and nothing
else, so that a changed value repeats exactly the runs that it concerns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from headcount.arms import Arms, Run
from headcount.config import Study, studies
from headcount.errors import UserError
from headcount.faults import teacher_faults
from headcount.tickets import tickets

__all__ = ["Run", "data_settings", "runs"]


def runs(study: Study) -> dict[str, Run]:
    """List every run of the study by id; a parent stands before its children, the main corpus before the others.

    Raises:
        UserError: a teacher cannot teach, or names of corpora, variants and models give two runs one id.

    """
    listed: dict[str, Run] = {}
    corpora = studies(study)
    if faults := list(teacher_faults(corpora)):
        raise UserError("\n".join(faults))
    for corpus, settings in corpora.items():
        prefix = "" if corpus == study.corpus else f"{corpus}-"
        for seed in settings.seeds:
            for run in _runs(Arms(settings, corpus, prefix, seed)):
                if run.run in listed:
                    raise UserError(
                        f"two runs would be called {run.run}; give the corpus, variant or model another name"
                    )
                listed[run.run] = run
    return listed


def _runs(arms: Arms) -> Iterator[Run]:
    """Yield the runs of one corpus and seed, parents before their children."""
    study = arms.study
    yield arms.baseline()
    if "entmax" in study.methods:
        yield from arms.sparse()
    if "smaller" in study.methods:
        yield from arms.smaller()
    if "l0" in study.methods:
        yield from arms.gated()
    if study.roles.removal:
        yield from arms.by_role()
    if "lottery" in study.methods:
        yield from tickets(arms)
    if "ranked" in study.methods:
        yield from arms.ranked()
    if "subset" in study.methods:
        yield from arms.subset()


def data_settings(study: Study) -> str:
    """Return the settings of data preparation as canonical JSON: the chosen source's block only."""
    data = study.data.model_dump(mode="json")
    kept = {key: value for key, value in data.items() if key == study.data.source or not isinstance(value, dict)}
    settings = {"data": kept, "subword": study.subword.model_dump(mode="json")}
    return json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
