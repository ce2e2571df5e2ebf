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
    import headcount.analysis
    import headcount.config
    import headcount.errors
    import headcount.fingerprint
    import headcount.heads
    import headcount.jobs
    import headcount.orphans
    import headcount.partners
    import headcount.plan
    import headcount.squeue
except ImportError as error:
    raise WorkflowError(f"{error}; run `make setup`, then .venv/bin/snakemake") from None

try:
    SETTINGS = headcount.config.parse(config)
    PLAN = headcount.plan.runs(SETTINGS)
except headcount.errors.UserError as error:
    raise WorkflowError(f"the configuration has faults:\n{error}") from None

CORPORA = headcount.config.studies(SETTINGS)  # the complete settings of each corpus by its name, the main one first
STUDY = f"results/{SETTINGS.study}"
RUNS, TABLES, FIGURES, LOGS = (f"{STUDY}/{name}" for name in ("runs", "tables", "figures", "logs"))
DATA = f"{STUDY}/data/{{corpus}}"

# Figure or table: where it belongs (paper and place in it), and the methods and analyses without which it is empty.
FIGURES_BY_NAME = {
    "bleu_by_heads": ("all", ()),
    "surviving_heads": ("all", ()),
    "training_curves": ("all", ()),
    "summary_table": ("all", ()),
    "claims_table": ("all", ("claims",)),
    "head_map": ("voita2019-fig01", ("roles", "relevance")),
    "head_map_targets": ("voita2019-fig02", ("roles", "relevance", "corpora")),
    "dependency_distances": ("voita2019-fig03", ("roles",)),
    "dependency_accuracy": ("voita2019-fig04", ("roles",)),
    "attention_maps": ("voita2019-fig05", ("roles",)),
    "hard_concrete": ("voita2019-fig06", ("l0",)),
    "bleu_by_encoder_heads": ("voita2019-fig07", ("encoder gated",)),
    "retained_functions": ("voita2019-fig08", ("encoder gated", "roles")),
    "heads_by_type": ("voita2019-fig09", ("l0",)),
    "heads_by_decoder_layer": ("voita2019-fig10", ("l0",)),
    "gate_trajectories": ("voita2019-gates", ("l0",)),
    "removal_by_role": ("voita2019-roles", ("removal",)),
    "relevance_agreement": ("voita2019-relevance", ("roles", "relevance")),
    "dependency_accuracy_table": ("voita2019-table1", ("roles",)),
    "pruned_against_scratch_table": ("voita2019-table2", ("l0",)),
    "sparse_maps": ("correia2019-fig01", ("entmax",)),
    "alpha_trajectories": ("correia2019-fig02", ("entmax",)),
    "alpha_histograms": ("correia2019-fig03", ("entmax",)),
    "density_histograms": ("correia2019-fig04", ("entmax",)),
    "density_by_layer": ("correia2019-fig05", ("entmax",)),
    "head_diversity": ("correia2019-fig06", ("entmax",)),
    "positional_confidence": ("correia2019-fig07", ("entmax",)),
    "special_heads": ("correia2019-fig08", ("entmax",)),
    "density_spread": ("correia2019-fig10", ("entmax",)),
    "sparse_attention_table": ("correia2019-table1", ("entmax",)),
    "attention_speed_table": ("correia2019-speed", ("entmax",)),
    "sparsity_and_pruning": ("correia2019-pruning", ("sparse models pruned",)),
    "sparsity_and_pruning_table": ("correia2019-pruning", ("sparse models pruned",)),
    "ticket_bleu": ("behnke2020-table1", ("tickets controlled",)),
    "heads_by_round": ("behnke2020-table3", ("tickets controlled",)),
    "heads_by_round_table": ("behnke2020-table3", ("tickets controlled",)),
    "ticket_gain": ("behnke2020-table4", ("tickets controlled",)),
    "pruned_speed": ("behnke2020-speed", ("tickets controlled",)),
    "pruned_speed_table": ("behnke2020-speed", ("tickets controlled",)),
    "round_speed": ("behnke2020-cost", ("tickets controlled",)),
    "training_cost_table": ("behnke2020-cost", ("tickets controlled",)),
    "survivor_overlap": ("behnke2020-survivors", ("tickets controlled",)),
    "rank_stability": ("behnke2020-survivors", ("tickets controlled",)),
    "pruning_methods": ("behnke2020-methods", ("tickets controlled",)),
    "pruning_methods_table": ("behnke2020-methods", ("tickets controlled",)),
}

# Which papers' claims a study is held against: those of which it runs a method or an analysis in full.
PAPERS_BY_PART = {
    "l0": "voita2019",
    "roles": "voita2019",
    "tickets controlled": "behnke2020",
    "entmax": "correia2019",
}
PARTS = {part for of in CORPORA.values() for part in (*of.methods, *of.analyses)}
CONDITIONS = {
    "corpora": SETTINGS.corpora,
    "removal": SETTINGS.roles.removal,
    "encoder gated": [run for run in PLAN.values() if run.stage == "finetune_l0" and run.scope == "encoder"],
    "sparse models pruned": [run for run in PLAN.values() if run.normaliser != "softmax" and not run.has_all_heads],
    "tickets controlled": [run for run in PLAN.values() if run.method in ("reinit", "same_counts")],
}
PARTS |= {name for name, there in CONDITIONS.items() if there}
PAPERS = sorted({paper for part, paper in PAPERS_BY_PART.items() if part in PARTS})
PARTS |= {"claims"} if PAPERS else set()

# Of the section `roles`: what recording the attention needs, and what neither that nor naming the heads needs.
RECORDED = {"offsets", "relations", "rare_frequent_tokens", "interrogatives", "question_marks", "maps"}
NOT_A_CRITERION = {"parser", "trees", "removal"}


# The environment of every job; not part of the shell lines, so that a change repeats nothing: this very Python, the
# allocator's settings, how often runs are saved. Snakemake itself sets OMP_NUM_THREADS to the job's threads.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]),
    **headcount.jobs.ENVIRONMENT,
    HEADCOUNT_CHECKPOINTS=json.dumps(SETTINGS.checkpoints.model_dump()),
)


def stage(*stages):
    """Return the pattern of the runs of the given stages, for a wildcard constraint."""
    return one_of(run.run for run in PLAN.values() if run.stage in stages)


def one_of(names):
    """Return the pattern of the given names, for a wildcard constraint."""
    return "|".join(map(re.escape, names)) or "none"


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


def trees_from(wildcards, input):
    """Return the option of the parse script that says where the trees come from: the user, the grammar, the parser."""
    settings = own(wildcards)
    if settings.data.source == "synthetic" and not settings.roles.trees:
        return f"--trees {DATA}/corpus/dev.conllu".format(corpus=wildcards.corpus)
    return f"--trees {input.trees!r}" if input.trees else f"--parser {settings.roles.parser!r}"


def training_inputs(wildcards):
    """Return what a training reads: the encoded corpus, and of each parent the file that its stage takes over."""
    files = of_corpus("subword.model", "encoded/train.npz", "encoded/dev.npz")(wildcards)
    run = PLAN[wildcards.run]
    for parent in map(PLAN.get, run.parents):
        names = ["model.json"]
        if parent.stage == "lottery_round":
            names = ["heads.json"]
        elif parent.has_all_heads:
            names.append("model.safetensors")  # rewind-*.pt, which rounds and tickets start from, are written beside it
        if run.method in headcount.heads.BY_ROLE:
            names.append("roles.json")
        files += [f"{RUNS}/{parent.run}/{name}" for name in names]
    return files


STAGE_CODE = {
    "train_baseline": ("stages.begin.scratch",),
    "train_entmax": ("stages.begin.scratch",),
    "train_smaller": ("stages.begin.scratch",),
    "train_reinit": ("stages.begin.scratch",),
    "train_ticket": ("stages.begin.ticket",),
    "lottery_round": ("stages.begin.lottery_round",),
    "finetune_l0": ("stages.begin.l0",),
    "train_scratch": ("stages.begin.scratch",),
    "finetune_removed": ("stages.begin.removed",),
    "finetune_ranked": ("stages.begin.ranked",),
    "finetune_subset": ("stages.begin.subset",),
}


def stage_code(wildcards):
    """Return the fingerprint of the code behind the run's stage, its normalisers and head score included."""
    run = PLAN[wildcards.run]
    normalisers = set(run.settings.get("model", {}).get("normalisers", {}).values())
    plugins = [f"model.normalise.{name}" for name in sorted(normalisers)]
    if run.scorer:
        plugins.append(f"pruning.scorers.{run.scorer}")
    return headcount.fingerprint.fingerprint("stages.train", *STAGE_CODE[run.stage], *plugins)


def models(place=None):
    """Return the names of the runs that end in a model, all or those of one corpus and seed."""
    return [run.run for run in PLAN.values() if run.trains_a_model and place in (None, (run.corpus, str(run.seed)))]


def baseline_hypotheses(wildcards):
    """Return the translations of the baseline of the run's corpus and seed, for the paired bootstrap."""
    run = PLAN[wildcards.run]
    first = models((run.corpus, str(run.seed)))[0]
    return f"{RUNS}/{first}/test.hypotheses"


def partner_hypotheses(wildcards):
    """Return the translations of the run's partner, for a second paired bootstrap; nothing where it has none."""
    partner = headcount.partners.partner(PLAN[wildcards.run], PLAN)
    return [f"{RUNS}/{partner}/test.hypotheses"] if partner else []


def models_of_seed(wildcards):
    """Return the names of the models of one corpus and seed, the baseline first."""
    return models((wildcards.corpus, wildcards.seed))


def dense():
    """Return the runs that were trained from scratch with all heads."""
    return headcount.jobs.dense(PLAN)


def asked(analysis):
    """Return the runs whose heads an analysis is asked of: dense models, for roles also what is left in the encoder."""
    return headcount.jobs.asked(analysis, PLAN, CORPORA)


def observed():
    """Return the runs whose attention is recorded."""
    return headcount.jobs.observed(PLAN, CORPORA)


def figure_names(tables):
    """Return the tables or the pictures that the chosen methods and analyses yield, with the paper and place of each."""
    return {
        name: place
        for name, (place, needed) in FIGURES_BY_NAME.items()
        if PARTS.issuperset(needed) and name.endswith("_table") == tables
    }


def figure_files():
    """Return the files of all figures and tables."""
    pictures = [f"{FIGURES}/{place}-{name}.svg" for name, place in figure_names(tables=False).items()]
    return pictures + [f"{FIGURES}/{place}-{name}.html" for name, place in figure_names(tables=True).items()]


def drawn_from():
    """Return what figures are drawn from: the tables, with the papers' numbers beside them where a paper is at stake."""
    claims = [f"{TABLES}/claims.csv", f"{TABLES}/paper_numbers.csv"] if PAPERS else []
    return expand(f"{TABLES}/{{table}}.csv", table=headcount.analysis.TABLES) + claims


def code(*modules):
    """Return a function to the fingerprint of the code behind a stage: a changed formula repeats it, a comment does not.

    A function, since a fingerprint costs time and a job on a cluster, which reads all rules, needs only its own.
    """
    return lambda wildcards: headcount.fingerprint.fingerprint(*modules)


def run_verb(*arguments, text=None):
    """Run a verb of the command line in its own process and return its exit status."""
    command = [sys.executable, "-m", "headcount", *arguments]
    return subprocess.run(command, input=text, text=True, check=False).returncode


def before_the_first_job():
    """Refuse a study that cannot finish, before anything runs; set up the tracking store once, then keep it current."""
    refuse_orphans()
    watch_the_queue_steadily()
    where = ["--cluster"] if workflow.non_local_exec else []
    if run_verb("check", "--config", "-", *where, text=json.dumps(SETTINGS.model_dump(mode="json"))):
        raise WorkflowError("headcount check found faults; nothing was started")
    if SETTINGS.tracking.enabled:
        follow_the_runs()


def refuse_orphans():
    """Refuse to start beside jobs that a killed workflow left in the queue of SLURM."""
    name = getattr(workflow.scheduler._executor, "run_uuid", None)  # what all its jobs are called
    if name is None:  # not SLURM's executor
        return
    try:
        headcount.orphans.refuse_orphans(Path(LOGS, "slurm-run"), name)
    except headcount.errors.UserError as error:
        raise WorkflowError(str(error)) from None


def watch_the_queue_steadily():
    """Let SLURM's executor lose no job, and no time between jobs, where squeue was chosen as the way to ask."""
    if getattr(workflow.executor_settings, "status_command", None) == "squeue":
        seconds = workflow.remote_execution_settings.seconds_between_status_checks
        headcount.squeue.SteadyWatch(workflow.scheduler._executor, seconds)


def follow_the_runs():
    """Start the one process that copies the runs into MLflow while they train, wherever; it ends with this one."""
    every = ["--every", str(SETTINGS.tracking.sync_seconds), "--while", str(os.getpid())]
    log = Path(LOGS, "track-live.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as said:
        subprocess.Popen(
            [sys.executable, "-m", "headcount", "track", "--study", STUDY, f"--uri={SETTINGS.tracking.uri}", *every],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,  # Ctrl-C is for Snakemake
        )


def say_what_is_next():
    """Tell where the results are and what can be done with them."""
    run_verb("summary", "--study", STUDY)


def say_what_failed():
    """Close the runs in the tracking store; show the failed runs' last log lines and how to go on."""
    if SETTINGS.tracking.enabled:
        run_verb("track", "--study", STUDY, f"--uri={SETTINGS.tracking.uri}")
    run_verb("summary", "--study", STUDY, "--failed")
