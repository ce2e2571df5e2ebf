"""Every job of a study, and what it waits for."""

from __future__ import annotations

from headcount.config import parse, studies
from headcount.jobs import asked, jobs, observed, teachers
from headcount.plan import runs

TAUGHT = {
    "methods": ["l0"],
    "analyses": ["roles"],
    "roles": {"removal": True},
    "l0": {"scopes": ["encoder"], "penalties_encoder": [0.01]},
    "corpora": {"student": {"data": {"teacher": "en-de"}, "methods": [], "analyses": [], "roles": {"removal": False}}},
}


def test_all_parents_are_jobs_and_every_run_is_trained():
    study = parse({**TAUGHT, "seeds": [1, 2]})
    listed = jobs(study)
    assert {parent for job in listed.values() for parent in job.parents} <= set(listed)
    assert {name for name, job in listed.items() if job.trains} == set(runs(study))


def test_a_taught_corpus_waits_for_its_teachers_training():
    listed = jobs(parse(TAUGHT))
    assert listed["prepare student"].parents == ("teach student",)
    assert listed["teach student"].parents == ("prepare en-de", "baseline-s1")
    assert listed["student-baseline-s1"].parents == ("prepare student",)
    assert list(teachers(runs(parse(TAUGHT)), studies(parse(TAUGHT)))) == ["student"]


def test_heads_removed_by_role_wait_for_the_roles():
    assert "roles baseline-s1" in jobs(parse(TAUGHT))["unnamed-encoder-s1"].parents


def test_a_score_waits_for_the_translations_that_it_is_compared_with():
    study = parse({"methods": ["lottery"]})
    assert set(jobs(study)["score reinit-18-s1"].parents) == {
        "translate reinit-18-s1",
        "translate baseline-s1",
        "translate ticket-18-s1",
    }


def test_what_is_observed_and_analysed():
    study = parse(TAUGHT)
    plan, corpora = runs(study), studies(study)
    assert asked("relevance", plan, corpora) == []
    assert set(asked("roles", plan, corpora)) == {run for run in plan if not run.startswith("student")}
    assert set(observed(plan, corpora)) == set(plan)


def test_tracking_is_a_job_only_where_it_is_wanted():
    assert "track" in jobs(parse({}))
    assert "track" not in jobs(parse({"tracking": {"enabled": False}}))
