"""Every job of a study as the Snakefile will run it: rule, parents, priority; free of torch.

The rules themselves ask here which runs are observed and analysed; `tests/workflow/test_jobs_of_the_rules.py` compares
the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from headcount import plan
from headcount.config import Study, studies
from headcount.heads import BY_ROLE
from headcount.partners import partner
from headcount.plan import Run

PRIORITY = {
    "prepare": 110,
    "teach": 110,
    "train_baseline": 100,
    "lottery_round": 90,
    "train_ticket": 60,
    "train_reinit": 50,
    "train_scratch": 45,
    "train_entmax": 40,
    "train_smaller": 35,
    "finetune_l0": 30,
    "finetune_subset": 28,
    "finetune_ranked": 25,
    "finetune_removed": 20,
}
"""Of the rules; of all others 0."""

ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": str(1 << 32), "MALLOC_TRIM_THRESHOLD_": str(1 << 33)}
"""Of every job: glibc thresholds that keep freed tensors in the process, 1.4 times the training speed."""


@dataclass(frozen=True)
class Job:
    """One job of the workflow.

    Attributes:
        name: of a training the id of its run, else rule and subject.
        rule: that runs it; the figures count as one rule.
        corpus: empty where it concerns all corpora.
        subject: the wildcard of its log files.
        parents: names of the jobs whose outputs it reads.
        run: that it trains or reads, if it is of one run.

    """

    name: str
    rule: str
    corpus: str
    subject: str
    parents: tuple[str, ...]
    run: Run | None = None

    @property
    def priority(self) -> int:
        """Jobs of a higher one start first."""
        return PRIORITY.get(self.rule, 0)

    @property
    def trains(self) -> bool:
        """Whether it makes optimiser updates."""
        return self.run is not None and self.name == self.run.run


def dense(runs: Mapping[str, Run]) -> list[str]:
    """Return the runs that were trained from scratch with all heads."""
    return [run.run for run in runs.values() if run.has_all_heads]


def asked(analysis: str, runs: Mapping[str, Run], corpora: Mapping[str, Study]) -> list[str]:
    """Return the runs whose heads an analysis is asked of: dense models, for roles also what is left in the encoder."""
    return [
        run.run
        for run in runs.values()
        if analysis in corpora[run.corpus].analyses
        and (run.has_all_heads or (analysis == "roles" and run.trains_a_model and run.scope == "encoder"))
    ]


def observed(runs: Mapping[str, Run], corpora: Mapping[str, Study]) -> list[str]:
    """Return the runs whose attention is recorded."""
    return list(dict.fromkeys([*dense(runs), *asked("roles", runs, corpora)]))


def teachers(runs: Mapping[str, Run], corpora: Mapping[str, Study]) -> dict[str, Run]:
    """Return by taught corpus the run that translates for it: the baseline of the teacher's first seed."""
    return {
        corpus: next(run for run in runs.values() if (run.corpus, run.stage) == (taught.data.teacher, "train_baseline"))
        for corpus, taught in corpora.items()
        if taught.data.teacher in corpora
    }


def jobs(study: Study) -> dict[str, Job]:
    """List every job of a study by name; the figures and tables are one job."""
    runs, corpora = plan.runs(study), studies(study)
    listed = [
        *_of_corpora(runs, corpora),
        *(_training(run) for run in runs.values()),
        *_of_runs(runs, corpora),
        *_speed(runs, corpora),
    ]
    last = ("lottery_round", "score", "record", "roles", "relevance", "score_lookup", "speed")
    listed.append(_for_all("analyse", [job.name for job in listed if job.rule in last]))
    listed.append(_for_all("claims", ["analyse"]))
    listed.append(_for_all("figures", ["analyse", "claims"]))
    if study.tracking.enabled:
        listed.append(_for_all("track", ["analyse", "figures"]))
    return {job.name: job for job in listed}


def _of_corpora(runs: Mapping[str, Run], corpora: Mapping[str, Study]) -> Iterator[Job]:
    taught = teachers(runs, corpora)
    for corpus, of in corpora.items():
        teacher = taught.get(corpus)
        if teacher:
            parents = (f"prepare {teacher.corpus}", teacher.run)
            yield Job(f"teach {corpus}", "teach", corpus, corpus, parents, teacher)
        yield Job(f"prepare {corpus}", "prepare", corpus, corpus, (f"teach {corpus}",) if teacher else ())
        if "roles" in of.analyses:
            yield Job(f"parse {corpus}", "parse", corpus, corpus, (f"prepare {corpus}",))
        yield Job(f"score_lookup {corpus}", "score_lookup", corpus, f"lookup-{corpus}", (f"prepare {corpus}",))


def _training(run: Run) -> Job:
    roles = [f"roles {parent}" for parent in run.parents] if run.method in BY_ROLE else []
    return Job(run.run, run.stage, run.corpus, run.run, (f"prepare {run.corpus}", *run.parents, *roles), run)


def _of_runs(runs: Mapping[str, Run], corpora: Mapping[str, Study]) -> Iterator[Job]:
    """Yield what reads one finished model."""
    models = [run for run in runs.values() if run.trains_a_model]
    for run in models:
        yield _reading("translate", run, [run.run])
    for run in models:
        first = next(other.run for other in models if (other.corpus, other.seed) == (run.corpus, run.seed))
        compared = [name for name in (run.run, first, partner(run, runs)) if name]
        yield _reading("score", run, dict.fromkeys(f"translate {name}" for name in compared))
    for name in observed(runs, corpora):
        trees = [f"parse {runs[name].corpus}"] if "roles" in corpora[runs[name].corpus].analyses else []
        yield _reading("record", runs[name], [name, *trees])
    for name in asked("roles", runs, corpora):
        yield _reading("roles", runs[name], [f"record {name}"])
    for name in asked("relevance", runs, corpora):
        yield _reading("relevance", runs[name], [name])


def _reading(rule: str, run: Run, parents: Iterable[str]) -> Job:
    return Job(f"{rule} {run.run}", rule, run.corpus, run.run, tuple(parents), run)


def _speed(runs: Mapping[str, Run], corpora: Mapping[str, Study]) -> Iterator[Job]:
    for corpus, of in corpora.items():
        for seed in of.seeds:
            models = [
                run.run for run in runs.values() if run.trains_a_model and (run.corpus, run.seed) == (corpus, seed)
            ]
            yield Job(f"speed {corpus}-s{seed}", "speed", corpus, f"{corpus}-s{seed}", tuple(models))


def _for_all(rule: str, parents: Iterable[str]) -> Job:
    return Job(rule, rule, "", rule, tuple(parents))
