"""Seconds of the jobs that train nothing: each rule has a rate, and it grows with the work."""

from __future__ import annotations

from typing import Any

import pytest

from headcount.chores import pairs, seconds
from headcount.config import Study, parse
from headcount.jobs import jobs

MILLION = 10**6


def of(rule: str, study: Study, parameters: int = MILLION) -> float:
    job = next(job for job in jobs(study).values() if job.rule == rule)
    return seconds(job, study, parameters, len(jobs(study)))


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        ("prepare", {"data": {"pairs_limit": 10**6}}),
        ("translate", {"data": {"test_sentences": 9000}}),
        ("translate", {"evaluation": {"beam": 40}}),
        ("score", {"evaluation": {"bootstrap_samples": 9000}}),
        ("record", {"data": {"dev_sentences": 9000}}),
        ("relevance", {"relevance": {"sentences": 900}}),
        ("speed", {"evaluation": {"speed_batches": [100, 1]}}),
        ("speed", {"evaluation": {"speed_repeats": 50}}),
        ("speed", {"l0": {"penalties_all": [0.1, 0.2, 0.3, 0.4, 0.5]}}),
        ("parse", {"data": {"dev_sentences": 9000}}),
        ("track", {"lottery": {"tickets": [36, 18, 9]}}),
        ("analyse", {"lottery": {"tickets": [36, 18, 9]}}),
    ],
)
def test_more_work_takes_longer(rule: str, more: dict[str, Any]):
    assert of(rule, parse(more)) > of(rule, parse({}))


@pytest.mark.parametrize("rule", ["translate", "relevance", "speed", "record"])
def test_larger_models_take_longer(rule: str):
    assert of(rule, parse({}), 10 * MILLION) > of(rule, parse({}))


def test_a_corpus_that_needs_no_parser_is_parsed_at_once():
    assert of("parse", parse({"roles": {"parser": ""}})) < of("parse", parse({})) / 10


def test_pairs_are_those_of_the_settings_where_these_tell_them():
    assert pairs(parse({"data": {"source": "synthetic", "synthetic": {"pairs": 77}}})) == 77
    assert pairs(parse({"data": {"pairs_limit": 88}})) == 88
    assert pairs(parse({})) > 88


def test_every_job_that_trains_nothing_has_a_price():
    for job in jobs(parse({})).values():
        assert job.trains or seconds(job, parse({}), MILLION, 20) > 0
