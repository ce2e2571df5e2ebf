"""One verb for each rule of the workflow."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Annotated

import typer

from headcount import config
from headcount.commands import DEFAULT_CONFIG, Configs, Out, StudyFolder, app, log_as, read_study
from headcount.settings import Roles
from headcount.train.torchrun import is_rank
from headcount.vocabulary import TOKENIZER

Settings = Annotated[str, typer.Option(help="complete settings as JSON, handed over by the rule")]
Code = Annotated[str, typer.Option(help="fingerprint of the stage's code")]
DataFolder = Annotated[Path, typer.Option("--data", help="folder of the prepared corpus")]


@app.command()
def prepare(
    settings: Settings,
    out: Out,
    teacher: Annotated[
        str, typer.Option(help="run, beam, sources and targets as JSON: translations that replace the training targets")
    ] = "",
) -> None:
    """Read the corpus, clean and split it, train the subword model, encode everything."""
    from headcount.data.prepare import prepare as prepare_corpus
    from headcount.data.teacher import Translations

    translations = Translations.from_json(teacher) if teacher else None
    prepare_corpus(config.parse(json.loads(settings)), out, translations)


@app.command()
def train(
    settings: Settings,
    code: Code,
    data: DataFolder,
    out: Out,
    parents: Annotated[list[Path] | None, typer.Argument(help="folders of the run's parents")] = None,
    ranks: Annotated[
        int, typer.Option(min=0, help="processes that share every batch, on a GPU each; 0 and 1: this one alone")
    ] = 1,
) -> None:
    """Train one run: baseline, entmax, L0 fine-tuning, lottery round, ticket or its re-initialised control."""
    if ranks > 1 and not is_rank():
        from headcount.train.launch import launch

        arguments = ["train", "--settings", settings, "--code", code, "--data", str(data), "--out", str(out)]
        launch(ranks, "headcount", [*arguments, *map(str, parents or [])])
        return

    from headcount.stages.train import train as train_run
    from headcount.train.checkpoint import Rhythm

    complete = json.loads(settings)
    log_as(f"{complete['run']:20} ")  # several runs share the terminal
    if is_rank() and os.environ["RANK"] != "0":
        logging.getLogger().setLevel(logging.WARNING)  # the first rank speaks for all
    # An environment variable and no option, since another rhythm must never make a training run again.
    rhythm = config.parse({"checkpoints": json.loads(os.environ.get("HEADCOUNT_CHECKPOINTS") or "{}")}).checkpoints
    train_run(complete, code=code, data=data, out=out, parents=parents or [], rhythm=Rhythm(**rhythm.model_dump()))


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
    partner: Annotated[Path | None, typer.Option(help="the same of another run, in its run folder")] = None,
    near_duplicates: Annotated[
        Path | None, typer.Option(help="JSON list of test lines left out of the second score")
    ] = None,
    tokenizer: Annotated[str, typer.Option(help="sacreBLEU tokenizer")] = TOKENIZER,
    samples: Annotated[int, typer.Option(min=1, help="bootstrap samples")] = 1000,
) -> None:
    """Score translations: BLEU with interval, chrF, paired bootstrap against a baseline and another run."""
    from headcount.stages.score import score as score_files

    score_files(
        hypotheses,
        out,
        references=references,
        baseline=baseline,
        partner=partner,
        near_duplicates=near_duplicates,
        tokenizer=tokenizer,
        samples=samples,
    )


@app.command()
def record(
    encoded: Path,
    out: Path,
    model: Annotated[Path, typer.Option(help="run folder")],
    text: Annotated[Path, typer.Option(help="source sentences of the encoded pairs")],
    train: Annotated[Path, typer.Option(help="encoded training pairs, which tell how frequent a piece is")],
    subword: Annotated[Path, typer.Option()],
    roles: Annotated[str, typer.Option(help="settings of the section `roles` as JSON")],
    trees: Annotated[Path | None, typer.Option(help="CoNLL-U of the sentences")] = None,
) -> None:
    """Run a model over an encoded corpus once and keep what each head did."""
    from headcount.stages.record import record as record_heads

    settings = Roles.model_validate_json(roles)
    record_heads(encoded, out, model=model, text=text, train=train, subword=subword, trees=trees, settings=settings)


@app.command("roles")
def name_heads(
    observation: Path,
    out: Path,
    roles: Annotated[str, typer.Option(help="settings of the section `roles` as JSON")],
) -> None:
    """Name the positional, syntactic and rare-word heads of a recorded model."""
    from headcount.stages.roles import roles as write_roles

    write_roles(observation, out, settings=Roles.model_validate_json(roles))


@app.command()
def relevance(
    encoded: Path,
    out: Path,
    model: Annotated[Path, typer.Option(help="run folder")],
    sentences: Annotated[int, typer.Option(help="pairs that are used")],
    prefixes: Annotated[str, typer.Option(help="what the decoder has read: reference or generated")],
    epsilon: Annotated[float, typer.Option(help="of the epsilon rule")],
    length_ratio: Annotated[float, typer.Option()],
    length_extra: Annotated[int, typer.Option()],
) -> None:
    """Measure how much each head matters: relevance propagation, gradients, leaving it out."""
    from headcount.stages.relevance import relevance as measure_relevance

    measure_relevance(
        encoded,
        out,
        model=model,
        sentences=sentences,
        prefixes=prefixes,
        epsilon=epsilon,
        length_ratio=length_ratio,
        length_extra=length_extra,
    )


@app.command()
def speed(
    names: Annotated[list[str], typer.Argument(help="runs of one seed, the baseline first")],
    runs: Annotated[Path, typer.Option(help="folder that holds the run folders")],
    subword: Annotated[Path, typer.Option()],
    text: Annotated[Path, typer.Option(help="source sentences")],
    out: Out,
    sentences: Annotated[int, typer.Option()],
    repeats: Annotated[int, typer.Option()],
    beams: Annotated[list[int], typer.Option("--beam", min=1, help="given once for each beam size")],
    batches: Annotated[
        list[int], typer.Option("--sentences-per-batch", min=1, help="given once for each size of a batch")
    ],
    length_penalty: Annotated[float, typer.Option()],
    length_ratio: Annotated[float, typer.Option()],
    length_extra: Annotated[int, typer.Option()],
) -> None:
    """Time dense against removed along the same search, and prove that removing equals masking."""
    from headcount.stages.speed import speed as time_models

    time_models(
        names,
        out,
        runs=runs,
        subword=subword,
        text=text,
        sentences=sentences,
        repeats=repeats,
        beams=beams,
        batches=batches,
        length_penalty=length_penalty,
        length_ratio=length_ratio,
        length_extra=length_extra,
    )


@app.command()
def analyse(names: list[str], study: StudyFolder, out: Out) -> None:
    """Collect the run folders of a study into tidy tables."""
    from headcount.analysis.runs import collect

    collect(study, out, names)


@app.command()
def claims(
    papers: list[str],
    tables: Annotated[Path, typer.Option(help="folder of tidy tables")],
    claims: Annotated[Path, typer.Option(help="folder with one file a paper: its numbers and its claims")],
    out: Out,
) -> None:
    """Hold the papers' claims against the tables of a study."""
    from headcount.claims.judge import write

    write(tables, claims, papers, out)


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
    study: StudyFolder,
    names: Annotated[list[str] | None, typer.Argument(help="runs; all when none is named")] = None,
    uri: Annotated[
        str | None, typer.Option(help="tracking store, empty is results/mlflow.db; the config's when not given")
    ] = None,
    receipt: Annotated[Path | None, typer.Option(help="JSON file that says what was copied")] = None,
    every: Annotated[
        int | None, typer.Option(min=1, help="go on, and copy what has changed every so many seconds")
    ] = None,
    while_: Annotated[int, typer.Option("--while", help="with --every: until this process has ended")] = 0,
    configfile: Configs = None,
) -> None:
    """Copy run folders into MLflow; may be run again at any time."""
    from headcount.stages.track import keep_current
    from headcount.stages.track import track as track_study

    if uri is None and DEFAULT_CONFIG.is_file():
        tracking = read_study(configfile).tracking
        if not tracking.enabled:
            typer.echo("tracking.enabled is false: nothing was copied", err=True)
            return
        uri = tracking.uri
    if every:
        keep_current(study, uri or "", every, while_)
    elif not track_study(study, names or None, uri or "", receipt):
        raise typer.Exit(1)
