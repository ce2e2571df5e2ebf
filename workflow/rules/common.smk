# What all rules share: the settings, the plan, and functions from a wildcard to its inputs and parameters.
# This file runs at every parse, also in each cluster job, so it imports nothing that needs torch.

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

# Qualified names only: a Snakefile shares its namespace with Snakemake itself, which has a `parse` of its own.
try:
    import headcount.config
    import headcount.errors
    import headcount.fingerprint
    import headcount.plan
except ImportError as error:
    raise WorkflowError(f"{error}; run `make setup`, then .venv/bin/snakemake") from None

try:
    SETTINGS = headcount.config.parse(config)
except headcount.errors.UserError as error:
    raise WorkflowError(f"the configuration has faults:\n{error}") from None

CORPORA = headcount.config.studies(SETTINGS)  # the complete settings of each corpus by its name, the main one first
PLAN = headcount.plan.runs(SETTINGS)
STUDY = f"results/{SETTINGS.study}"
RUNS, TABLES, FIGURES, LOGS = (f"{STUDY}/{name}" for name in ("runs", "tables", "figures", "logs"))
DATA = f"{STUDY}/data/{{corpus}}"

# What each figure belongs to, and the method without which there is nothing to draw.
FIGURE_PAPERS = {
    "bleu_by_heads": ("all", None),
    "surviving_heads": ("all", None),
    "training_curves": ("all", None),
    "gate_trajectories": ("voita2019", "l0"),
    "alpha_density": ("correia2019", "entmax"),
}


# The environment of every job; not part of the shell lines, so that a change repeats nothing. First this very Python;
# then glibc thresholds that keep freed tensors in the process (1.4x the training speed); then where runs show up while
# they train. Snakemake itself sets OMP_NUM_THREADS to the job's threads.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]),
    MALLOC_MMAP_THRESHOLD_=str(1 << 32),
    MALLOC_TRIM_THRESHOLD_=str(1 << 33),
    HEADCOUNT_TRACKING=json.dumps(SETTINGS.tracking.model_dump()),
)


def stage(*stages):
    """Return the pattern of the runs of the given stages, for a wildcard constraint."""
    return "|".join(re.escape(run.run) for run in PLAN.values() if run.stage in stages) or "none"


def folder(wildcards):
    """Return the run folder; its checkpoints are no output, since Snakemake deletes outputs before each attempt."""
    return f"{RUNS}/{wildcards.run}"


def settings(wildcards):
    """Return the run's complete settings as one canonical JSON line."""
    return PLAN[wildcards.run].canonical


def parents(wildcards):
    """Return the folders of the run's parents."""
    return [f"{RUNS}/{parent}" for parent in PLAN[wildcards.run].parents]


def own(wildcards):
    """Return the complete settings of the corpus that the wildcard `corpus` names, or that of the run."""
    return CORPORA[wildcards.corpus if hasattr(wildcards, "corpus") else PLAN[wildcards.run].corpus]


def data_folder(wildcards):
    """Return the folder of the corpus that the run is trained on."""
    return DATA.format(corpus=PLAN[wildcards.run].corpus)


def of_corpus(*names):
    """Return a function from a run to the named files of its corpus."""
    return lambda wildcards: [f"{data_folder(wildcards)}/{name}" for name in names]


def text_files(wildcards):
    """Return the user's own text files, if the corpus is made of them: an edited text is prepared again."""
    data = own(wildcards).data
    files = (data.files.source, data.files.target, data.files.tsv)
    return [path for path in files if path and data.source == "files"]


def training_inputs(wildcards):
    """Return what a training reads: the encoded corpus, and of each parent the file that its stage takes over."""
    files = of_corpus("subword.model", "encoded/train.npz", "encoded/dev.npz")(wildcards)
    run = PLAN[wildcards.run]
    for parent in map(PLAN.get, run.parents):
        names = ["model.json"]
        if parent.stage == "lottery_round":
            names = ["heads.json"]
        elif run.stage in ("lottery_round", "train_ticket"):
            names.append("rewind.pt")
        elif parent.has_all_heads:
            names.append("model.safetensors")
        if run.method in ("named", "unnamed"):
            names.append("roles.json")
        files += [f"{RUNS}/{parent.run}/{name}" for name in names]
    return files


STAGE_CODE = {
    "train_baseline": ("stages.begin.scratch",),
    "train_entmax": ("stages.begin.scratch",),
    "train_reinit": ("stages.begin.scratch",),
    "train_ticket": ("stages.begin.ticket",),
    "lottery_round": (
        "stages.begin.lottery_round",
        f"pruning.scorers.{SETTINGS.lottery.scorer}",
    ),
    "finetune_l0": ("stages.begin.l0",),
    "train_scratch": ("stages.begin.scratch",),
    "finetune_removed": ("stages.begin.removed",),
}


def stage_code(wildcards):
    """Return the fingerprint of the code behind the run's stage, its normalisers included."""
    run = PLAN[wildcards.run]
    normalisers = set(run.settings.get("model", {}).get("normalisers", {}).values())
    plugins = [f"model.normalise.{name}" for name in sorted(normalisers)]
    return code("stages.train", *STAGE_CODE[run.stage], *plugins)


def models(place=None):
    """Return the names of the runs that end in a model, all or those of one corpus and seed."""
    return [run.run for run in PLAN.values() if run.trains_a_model and place in (None, (run.corpus, str(run.seed)))]


def baseline_hypotheses(wildcards):
    """Return the translations of the baseline of the run's corpus and seed, for the paired bootstrap."""
    run = PLAN[wildcards.run]
    first = models((run.corpus, str(run.seed)))[0]
    return f"{RUNS}/{first}/test.hypotheses"


def models_of_seed(wildcards):
    """Return the names of the models of one corpus and seed, the baseline first."""
    return models((wildcards.corpus, wildcards.seed))


def dense():
    """Return the runs that were trained from scratch with all heads."""
    return [run.run for run in PLAN.values() if run.has_all_heads]


def asked(analysis):
    """Return the runs whose heads an analysis is asked of: dense models, for roles also what is left in the encoder."""
    return [
        run.run
        for run in PLAN.values()
        if analysis in CORPORA[run.corpus].analyses
        and (run.has_all_heads or (analysis == "roles" and run.trains_a_model and run.scope == "encoder"))
    ]


def observed():
    """Return the runs whose attention is recorded."""
    return list(dict.fromkeys([*dense(), *asked("roles")]))


def figure_files():
    """Return the pictures that the chosen methods yield."""
    return [
        f"{FIGURES}/{paper}-{name}.svg"
        for name, (paper, method) in FIGURE_PAPERS.items()
        if method is None or method in SETTINGS.methods
    ]


def code(*modules):
    """Return the fingerprint of the code behind a stage: a changed formula repeats the stage, a comment does not."""
    return headcount.fingerprint.fingerprint(*modules)


def run_verb(*arguments, text=None):
    """Run a verb of the command line in its own process and return its exit status."""
    command = [sys.executable, "-m", "headcount", *arguments]
    return subprocess.run(command, input=text, text=True, check=False).returncode


def before_the_first_job():
    """Refuse a study that cannot finish, before anything runs; set up the tracking store once."""
    if run_verb("check", "--config", "-", text=json.dumps(SETTINGS.model_dump(mode="json"))):
        raise WorkflowError("headcount check found faults; nothing was started")


def say_what_is_next():
    """Tell where the results are and what can be done with them."""
    run_verb("summary", "--study", STUDY)


def say_what_failed():
    """Close the runs in the tracking store; show the failed runs' last log lines and how to go on."""
    if SETTINGS.tracking.enabled:
        run_verb("track", "--study", STUDY, f"--uri={SETTINGS.tracking.uri}")
    run_verb("summary", "--study", STUDY, "--failed")
