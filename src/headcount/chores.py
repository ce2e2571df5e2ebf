"""Seconds of the jobs that train nothing, before they have run: rates measured once; free of torch.

Measured on one thread of an AMD EPYC core, mostly in the study behnke2020-tatoeba; each job's start is included. Good
to a factor of two: training is nine tenths of a study.
"""

from __future__ import annotations

from headcount.config import Study
from headcount.jobs import Job

START_SECONDS = 3.0
"""What a job needs before its first update or sentence: Snakemake's start of a process, Python, PyTorch."""

PAIRS = 30_000
"""Training pairs of a corpus whose settings do not tell them."""


def seconds(job: Job, study: Study, parameters: int, runs: int) -> float:
    """Return the seconds of one job that trains nothing.

    Args:
        job: of any rule but the trainings.
        study: settings of its corpus.
        parameters: of the model that it reads.
        runs: of the study.

    """
    asked = study.evaluation
    translation = _of_sentence(parameters, asked.beam, asked.sentences_per_batch)
    match job.rule:
        case "prepare":
            return 2.0 + 2e-4 * pairs(study)
        case "parse":
            return 4.0 + 4e-3 * study.data.dev_sentences if study.needs_parser else 0.3
        case "teach":
            return START_SECONDS + pairs(study) * translation
        case "translate":
            return START_SECONDS + study.data.test_sentences * translation
        case "score" | "score_lookup":
            return 0.5 + 3e-7 * study.data.test_sentences * asked.bootstrap_samples
        case "record":
            return START_SECONDS + 5e-10 * study.data.dev_sentences * parameters
        case "relevance":
            return START_SECONDS + 3.7e-8 * study.relevance.sentences * parameters
        case "speed":
            conditions = [(beam, batch) for beam in asked.speed_beams for batch in asked.speed_batches]
            timed = (1 + asked.speed_repeats) * sum(_of_sentence(parameters, *condition) for condition in conditions)
            compared = 2 * _of_sentence(parameters, *conditions[0])  # with the masked twin
            return START_SECONDS + len(job.parents) * asked.speed_sentences * (timed + compared)
        case "figures":
            return 60.0  # all of them, one after another
        case "track":
            return 3.0 + 0.05 * runs
    return 1.0 + 0.01 * len(job.parents)  # roles, analyse, claims: they read and write tables


def pairs(study: Study) -> int:
    """Return the training pairs that the settings tell, else `PAIRS`."""
    return study.data.pairs_limit or (study.data.synthetic.pairs if study.data.source == "synthetic" else PAIRS)


def _of_sentence(parameters: int, beam: int, sentences_per_batch: int) -> float:
    """Return the seconds of translating a sentence: products for each hypothesis, calls for each batch."""
    return 2e-10 * parameters * beam + 0.9e-3 + 11e-3 / sentences_per_batch
