"""Verbs for people: what would run, where the results are, pages to browse, files to commit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headcount import config
from headcount.commands import DEFAULT_CONFIG, Configs, Out, StudyFolder, app, read_study
from headcount.errors import UserError
from headcount.registry import nearest

DEVICES = ("cpu", "cuda")
MEASURE_SECONDS = 4.0
"""Of each shape that `cost --measure` times."""


@app.command()
def check(
    configfile: Configs = None,
    config_from: Annotated[str, typer.Option("--config", help="- reads the merged settings from standard input")] = "",
    cluster: Annotated[
        bool, typer.Option("--cluster", help="jobs run elsewhere; their GPUs are not looked for")
    ] = False,
) -> None:
    """Say whether a study can run here: settings, corpus, disk, device, tracking store."""
    from headcount.stages.check import check as run_checks

    study = config.parse(json.load(sys.stdin)) if config_from == "-" else read_study(configfile)
    run_checks(study, cluster=cluster)


@app.command("plan")
def show_plan(
    configfile: Configs = None,
    as_json: Annotated[bool, typer.Option("--json", help="for machines")] = False,
    name: Annotated[bool, typer.Option("--name", help="only the study's name")] = False,
) -> None:
    """List every run of a study with its parents and its estimated cost."""
    from headcount.stages.overview import plan_json, plan_table

    study = read_study(configfile)
    if name:
        typer.echo(study.study)
    elif as_json:
        typer.echo(plan_json(study))
    else:
        plan_table(study)


@app.command("cost")
def show_cost(
    configfile: Configs = None,
    as_json: Annotated[bool, typer.Option("--json", help="for machines")] = False,
    workers: Annotated[int, typer.Option("--cores", "--jobs", min=1, help="jobs side by side")] = 2,
    device: Annotated[str, typer.Option(help="cpu or cuda; else that of training.device")] = "",
    peak_tflops: Annotated[float | None, typer.Option(min=0.1, help="of the GPU, for a guess")] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="time shapes of which nothing is known, seconds each")
    ] = False,
) -> None:
    """Say what a study costs before it runs, hours, disk and critical path, and where every figure comes from."""
    from headcount.analysis.sources import Places
    from headcount.stages.cost import cost, print_cost

    study = read_study(configfile)
    place = device or study.training.device.replace("auto", "cpu")
    if place not in DEVICES:
        raise UserError(f"--device: {place!r} is unknown{nearest(place, DEVICES)}; allowed: {', '.join(DEVICES)}")

    def timed(model: dict[str, Any], training: dict[str, Any]) -> tuple[float, int]:
        from headcount.stages.measure import measure as time_here  # needs torch, as nothing else here does

        return time_here(model, training, device=place, seconds=MEASURE_SECONDS)

    values = cost(
        study,
        Places(Path("results"), Path("docs/results"), DEFAULT_CONFIG, Path("configs")),
        device=place,
        workers=workers,
        peak_tflops=peak_tflops,
        measure=timed if measure else None,
    )
    if as_json:
        typer.echo(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        print_cost(values)


@app.command()
def ui(configfile: Configs = None, port: Annotated[int, typer.Option()] = 5000) -> None:
    """Open the tracking store in MLflow's web page."""
    from headcount.stages.track import serve

    serve(read_study(configfile), port)


@app.command()
def summary(
    study: StudyFolder,
    failed: Annotated[bool, typer.Option("--failed", help="say what failed and how to go on")] = False,
) -> None:
    """Say where the results are and what to do next."""
    from headcount.stages.overview import say_failed, say_finished

    (say_failed if failed else say_finished)(study)


@app.command()
def publish(study: StudyFolder, out: Out, configfile: Configs = None) -> None:
    """Copy a finished study's tables and figures, small, for committing."""
    from headcount.stages.publish import publish as publish_study

    publish_study(study, out, [str(path) for path in configfile or []])


@app.command("config")
def write_config(
    only_check: Annotated[bool, typer.Option("--check", help="write nothing; fail where a file differs")] = False,
) -> None:
    """Write config.yaml, the JSON schema and docs/config.md from the settings model."""
    from headcount.configdoc import generated
    from headcount.files import atomic_write

    stale = [
        (path, text)
        for path, text in generated(Path()).items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    if only_check and stale:
        raise UserError(f"{', '.join(str(path) for path, _ in stale)}: out of date; run `make config`")
    for path, text in stale:
        atomic_write(path, text)
        typer.echo(f"wrote {path}")
