"""headcount: how many attention heads does a translation model need?

snakemake                                            the default study on two cores
snakemake --configfile configs/smoke.yaml            everything in miniature, on a synthetic language
snakemake --workflow-profile profiles/slurm          the same on a SLURM cluster
"""

from pathlib import Path

from snakemake.utils import min_version

min_version("9.18")


configfile: Path(workflow.basedir) / "config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/prune.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/analyse.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/track.smk"


rule all:
    default_target: True
    input:
        figure_files(),
        tracked=f"{STUDY}/tracked.json" if SETTINGS.tracking.enabled else [],


onstart:
    before_the_first_job()


onsuccess:
    say_what_is_next()


onerror:
    say_what_failed()
