rule prepare:
    input:
        text_files(),
    output:
        manifest=report(
            f"{DATA}/manifest.json",
            caption="../report/corpus.rst",
            category="corpus",
            labels={"file": "manifest", "study": SETTINGS.study},
        ),
        subword=f"{DATA}/subword.model",
        encoded=expand(f"{DATA}/encoded/{{part}}.npz", part=["train", "dev", "test"]),
        text=expand(
            f"{DATA}/corpus/{{part}}.{{side}}",
            part=["train", "dev", "test"],
            side=["source", "target"],
        ),
        near_duplicates=f"{DATA}/near_duplicates.json",
        lookup=f"{DATA}/lookup.hypotheses",
    log:
        f"{LOGS}/prepare.log",
    benchmark:
        f"{LOGS}/prepare.benchmark.tsv"
    conda:
        "../../envs/core.yaml"
    params:
        settings=headcount.plan.data_settings(SETTINGS),
        code=code("data.prepare", f"data.sources.{SETTINGS.data.source}"),
        folder=lambda wildcards: DATA,
    message:
        "prepare: corpus, split, subword model"
    shell:
        "python -m headcount prepare --settings {params.settings:q} --out {params.folder} > {log} 2>&1"
