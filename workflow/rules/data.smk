# The corpora: prepared from their source; the training targets of a taught corpus are its teacher's translations.

TEACHERS = headcount.jobs.teachers(PLAN, CORPORA)
TRANSLATIONS = {
    corpus: {
        "run": run.run,
        "beam": own(run).evaluation.beam,
        "sources": f"{DATA}/corpus/train.source".format(corpus=run.corpus),
        "targets": f"{DATA}/teacher.target".format(corpus=corpus),
    }
    for corpus, run in TEACHERS.items()
}


rule prepare:
    input:
        text_files,
        taught=lambda wildcards: [
            path for key, path in TRANSLATIONS.get(wildcards.corpus, {}).items() if key in ("sources", "targets")
        ],
    output:
        manifest=report(
            f"{DATA}/manifest.json",
            caption="../report/corpus.rst",
            category="corpus",
            labels={"file": "manifest", "corpus": "{corpus}", "study": SETTINGS.study},
        ),
        subword=f"{DATA}/subword.model",
        encoded=expand(f"{DATA}/encoded/{{part}}.npz", part=["train", "dev", "test"], allow_missing=True),
        text=expand(
            f"{DATA}/corpus/{{part}}.{{side}}",
            part=["train", "dev", "test"],
            side=["source", "target"],
            allow_missing=True,
        ),
        near_duplicates=f"{DATA}/near_duplicates.json",
        lookup=f"{DATA}/lookup.hypotheses",
    log:
        f"{LOGS}/prepare/{{corpus}}.log",
    benchmark:
        f"{LOGS}/prepare/{{corpus}}.benchmark.tsv"
    wildcard_constraints:
        corpus=one_of(CORPORA),
    priority: 110  # every training waits for its corpus
    conda:
        "../../envs/core.yaml"
    params:
        settings=lambda wildcards: headcount.plan.data_settings(own(wildcards)),
        code=lambda wildcards: headcount.fingerprint.fingerprint(
            "data.prepare", f"data.sources.{own(wildcards).data.source}"
        ),
        folder=lambda wildcards: DATA.format(corpus=wildcards.corpus),
        teacher=lambda wildcards: (
            f"--teacher {json.dumps(TRANSLATIONS[wildcards.corpus])!r}" if wildcards.corpus in TRANSLATIONS else ""
        ),
    message:
        "prepare: {wildcards.corpus}: corpus, split, subword model"
    shell:
        "python -m headcount prepare --settings {params.settings:q} --out {params.folder} {params.teacher} > {log} 2>&1"
