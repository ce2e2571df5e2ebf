"""The command line: one verb for each rule, and a few for people; `headcount VERB --help` explains each."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headcount import config
from headcount.errors import InterruptedRun, UserError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="How many attention heads does a translation model need?",
)

Configs = Annotated[
    list[Path] | None,
    typer.Option("--configfile", help="override files; later ones win, mappings are merged"),
]
Settings = Annotated[str, typer.Option(help="complete settings as JSON, handed over by the rule")]
Code = Annotated[str, typer.Option(help="fingerprint of the stage's code")]
Out = Annotated[Path, typer.Option(help="where the result is written")]
DataFolder = Annotated[Path, typer.Option("--data", help="folder of the prepared corpus")]
Study = Annotated[Path, typer.Option(help="folder of the study, results/<study>")]

DEFAULT_CONFIG = Path("config.yaml")
TEMPORARY_FAILURE = 75
"""Exit status of a run that was interrupted, saved its state and can be started again (sysexits' EX_TEMPFAIL)."""


def _study(files: list[Path] | None) -> config.Study:
    return config.read(DEFAULT_CONFIG, *(files or []))


@app.command()
def check(
    configfile: Configs = None,
    config_from: Annotated[str, typer.Option("--config", help="- reads the merged settings from standard input")] = "",
) -> None:
    """Say whether a study can run here: settings, corpus, disk, device, tracking store."""
    from headcount.stages.check import check as run_checks

    study = config.parse(json.load(sys.stdin)) if config_from == "-" else _study(configfile)
    run_checks(study)


@app.command("plan")
def show_plan(
    configfile: Configs = None,
    as_json: Annotated[bool, typer.Option("--json", help="for machines")] = False,
    name: Annotated[bool, typer.Option("--name", help="only the study's name")] = False,
) -> None:
    """List every run of a study with its parents and its estimated cost."""
    from headcount.stages.overview import plan_json, plan_table

    study = _study(configfile)
    if name:
        typer.echo(study.study)
    elif as_json:
        typer.echo(plan_json(study))
    else:
        plan_table(study)


@app.command()
def prepare(settings: Settings, out: Out) -> None:
    """Read the corpus, clean and split it, train the subword model, encode everything."""
    from headcount.data.prepare import prepare as prepare_corpus

    prepare_corpus(config.parse(json.loads(settings)), out)


@app.command()
def train(
    settings: Settings,
    code: Code,
    data: DataFolder,
    out: Out,
    parents: Annotated[list[Path] | None, typer.Argument(help="folders of the run's parents")] = None,
) -> None:
    """Train one run: baseline, entmax, L0 fine-tuning, lottery round, ticket or its re-initialised control."""
    from headcount.stages.train import train as train_run

    complete = json.loads(settings)
    _log_as(f"{complete['run']:20} ")  # several runs share the terminal
    train_run(complete, code=code, data=data, out=out, parents=parents or [])


@app.command()
def translate(
    source: Annotated[Path, typer.Argument(help="text, one sentence a line")],
    out: Annotated[Path, typer.Argument(help="translations, line by line")],
    model: Annotated[Path, typer.Option(help="run folder, or any folder with model.safetensors and model.json")],
    subword: Annotated[Path, typer.Option(help="SentencePiece model")],
    beam: Annotated[int, typer.Option(min=1)] = 4,
    length_penalty: Annotated[float, typer.Option(min=0.0)] = 0.6,
    length_ratio: Annotated[float, typer.Option()] = 2.0,
    length_extra: Annotated[int, typer.Option(min=1)] = 10,
    sentences_per_batch: Annotated[int, typer.Option(min=1)] = 100,
) -> None:
    """Translate a text with a trained model; blank lines stay blank."""
    from headcount.stages.translate import translate as translate_file

    translate_file(
        source,
        out,
        model=model,
        subword=subword,
        beam=beam,
        length_penalty=length_penalty,
        length_ratio=length_ratio,
        length_extra=length_extra,
        sentences_per_batch=sentences_per_batch,
    )


@app.command()
def score(
    hypotheses: Path,
    out: Path,
    references: Annotated[Path, typer.Option()],
    baseline: Annotated[Path | None, typer.Option(help="translations to compare with by paired bootstrap")] = None,
    near_duplicates: Annotated[
        Path | None, typer.Option(help="JSON list of test lines left out of the second score")
    ] = None,
    tokenizer: Annotated[str, typer.Option(help="sacreBLEU tokenizer")] = "13a",
    samples: Annotated[int, typer.Option(help="bootstrap samples")] = 1000,
) -> None:
    """Score translations: BLEU with interval, chrF, paired bootstrap against a baseline."""
    from headcount.stages.score import score as score_files

    score_files(
        hypotheses,
        out,
        references=references,
        baseline=baseline,
        near_duplicates=near_duplicates,
        tokenizer=tokenizer,
        samples=samples,
    )


@app.command()
def record(
    encoded: Path,
    out: Path,
    model: Annotated[Path, typer.Option(help="run folder")],
) -> None:
    """Run a model over an encoded corpus once and keep what each head did."""
    from headcount.stages.record import record as record_heads

    record_heads(encoded, out, model=model)


@app.command()
def speed(
    names: Annotated[list[str], typer.Argument(help="runs of one seed, the baseline first")],
    runs: Annotated[Path, typer.Option(help="folder that holds the run folders")],
    subword: Annotated[Path, typer.Option()],
    text: Annotated[Path, typer.Option(help="source sentences")],
    out: Out,
    sentences: Annotated[int, typer.Option()],
    repeats: Annotated[int, typer.Option()],
    beam: Annotated[int, typer.Option()],
    length_penalty: Annotated[float, typer.Option()],
    length_ratio: Annotated[float, typer.Option()],
    length_extra: Annotated[int, typer.Option()],
    sentences_per_batch: Annotated[int, typer.Option()],
) -> None:
    """Time dense against removed on the same sentences, and prove that removing equals masking."""
    from headcount.stages.speed import speed as time_models

    time_models(
        names,
        out,
        runs=runs,
        subword=subword,
        text=text,
        sentences=sentences,
        repeats=repeats,
        beam=beam,
        length_penalty=length_penalty,
        length_ratio=length_ratio,
        length_extra=length_extra,
        sentences_per_batch=sentences_per_batch,
    )


@app.command()
def analyse(names: list[str], study: Study, out: Out) -> None:
    """Collect the run folders of a study into tidy tables."""
    from headcount.analysis.runs import collect

    collect(study, out, names)


@app.command()
def figure(
    name: Annotated[str, typer.Argument(help="a file of src/headcount/figures/")],
    tables: Annotated[Path, typer.Option(help="folder of tidy tables")],
    out: Out,
) -> None:
    """Draw one figure or table from tidy tables."""
    from headcount.registry import load

    load("figures", name).draw(tables, out)


@app.command()
def track(
    study: Study,
    names: Annotated[list[str] | None, typer.Argument(help="runs; all when none is named")] = None,
    uri: Annotated[
        str | None, typer.Option(help="tracking store, empty is results/mlflow.db; the config's when not given")
    ] = None,
    receipt: Annotated[Path | None, typer.Option(help="JSON file that says what was copied")] = None,
    configfile: Configs = None,
) -> None:
    """Copy run folders into MLflow; may be run again at any time."""
    from headcount.stages.track import track as track_study

    if uri is None and DEFAULT_CONFIG.is_file():
        tracking = _study(configfile).tracking
        if not tracking.enabled:
            typer.echo("tracking.enabled is false: nothing was copied", err=True)
            return
        uri = tracking.uri
    if not track_study(study, names or None, uri or "", receipt):
        raise typer.Exit(1)


@app.command()
def ui(configfile: Configs = None, port: Annotated[int, typer.Option()] = 5000) -> None:
    """Open the tracking store in MLflow's web page."""
    from headcount.stages.track import serve

    serve(_study(configfile), port)


@app.command()
def summary(
    study: Study,
    failed: Annotated[bool, typer.Option("--failed", help="say what failed and how to go on")] = False,
) -> None:
    """Say where the results are and what to do next."""
    from headcount.stages.overview import say_failed, say_finished

    (say_failed if failed else say_finished)(study)


@app.command()
def publish(study: Study, out: Out, configfile: Configs = None) -> None:
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


def _log_as(prefix: str) -> None:
    logging.basicConfig(
        format=f"%(asctime)s {prefix}%(message)s", datefmt="%H:%M:%S", level=logging.INFO, stream=sys.stderr, force=True
    )


def main(arguments: list[str] | None = None) -> Any:
    """Run the command line; a user's mistake ends with its message and status 2."""
    _log_as("")
    try:
        app(arguments)
    except UserError as error:
        for line in str(error).splitlines():
            typer.echo(f"error: {line}", err=True)
        sys.exit(2)
    except InterruptedRun as error:
        typer.echo(f"interrupted: {error}", err=True)
        sys.exit(TEMPORARY_FAILURE)


if __name__ == "__main__":
    main()
