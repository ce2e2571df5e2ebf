# What the heads of a model do and how much they matter, and all run folders as tidy tables.


rule parse:
    input:
        manifest=f"{DATA}/manifest.json",
        text=f"{DATA}/corpus/dev.source",
        trees=lambda wildcards: own(wildcards).roles.trees or [],
        script=f"{workflow.basedir}/workflow/scripts/parse.py",
    output:
        trees=f"{DATA}/dev.conllu",
    log:
        f"{LOGS}/parse/{{corpus}}.log",
    wildcard_constraints:
        corpus=one_of(CORPORA),
    conda:
        "../../envs/core.yaml"
    params:
        language=lambda wildcards: own(wildcards).data.source_language,
        source=trees_from,
        code=code("data.trees"),
    message:
        "parse: {wildcards.corpus}: dependency trees of the dev sentences"
    shell:
        "python {input.script} {input.text} {output.trees} --language {params.language} {params.source} > {log} 2>&1"


rule record:
    input:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
        encoded=of_corpus("encoded/dev.npz"),
        text=of_corpus("corpus/dev.source"),
        train=of_corpus("encoded/train.npz"),
        subword=of_corpus("subword.model"),
        trees=lambda wildcards: of_corpus("dev.conllu")(wildcards) if "roles" in own(wildcards).analyses else [],
    output:
        observation=f"{RUNS}/{{run}}/observation.npz",
    log:
        f"{LOGS}/record/{{run}}.log",
    benchmark:
        f"{LOGS}/record/{{run}}.benchmark.tsv"
    wildcard_constraints:
        run=one_of(observed()),
    conda:
        "../../envs/core.yaml"
    threads: 1
    params:
        roles=lambda wildcards: own(wildcards).roles.model_dump_json(include=RECORDED),
        trees=lambda wildcards, input: f"--trees {input.trees}" if input.trees else "",
        code=code("stages.record"),
        folder=folder,
    message:
        "record: {wildcards.run}"
    shell:
        "python -m headcount record --model {params.folder} --text {input.text} --train {input.train}"
        " --subword {input.subword} --roles {params.roles:q} {params.trees} {input.encoded} {output.observation}"
        " > {log} 2>&1"


rule roles:
    input:
        observation=f"{RUNS}/{{run}}/observation.npz",
    output:
        roles=f"{RUNS}/{{run}}/roles.json",
    log:
        f"{LOGS}/roles/{{run}}.log",
    wildcard_constraints:
        run=one_of(asked("roles")),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        roles=lambda wildcards: own(wildcards).roles.model_dump_json(exclude=RECORDED | NOT_A_CRITERION),
        code=code("stages.roles"),
    message:
        "roles: {wildcards.run}"
    shell:
        "python -m headcount roles --roles {params.roles:q} {input.observation} {output.roles} > {log} 2>&1"


rule relevance:
    input:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
        encoded=of_corpus("encoded/dev.npz"),
    output:
        relevance=f"{RUNS}/{{run}}/relevance.csv",
    log:
        f"{LOGS}/relevance/{{run}}.log",
    benchmark:
        f"{LOGS}/relevance/{{run}}.benchmark.tsv"
    wildcard_constraints:
        run=one_of(asked("relevance")),
    conda:
        "../../envs/core.yaml"
    threads: 1
    params:
        sentences=lambda wildcards: own(wildcards).relevance.sentences,
        prefixes=lambda wildcards: own(wildcards).relevance.prefixes,
        epsilon=lambda wildcards: own(wildcards).relevance.epsilon,
        length_ratio=lambda wildcards: own(wildcards).evaluation.length_ratio,
        length_extra=lambda wildcards: own(wildcards).evaluation.length_extra,
        code=code("stages.relevance"),
        folder=folder,
    message:
        "relevance: {wildcards.run}"
    shell:
        "python -m headcount relevance --model {params.folder} --sentences {params.sentences}"
        " --prefixes {params.prefixes} --epsilon {params.epsilon} --length-ratio {params.length_ratio}"
        " --length-extra {params.length_extra} {input.encoded} {output.relevance} > {log} 2>&1"


rule analyse:
    input:
        scores=expand(f"{RUNS}/{{run}}/score.json", run=models()),
        observations=expand(f"{RUNS}/{{run}}/observation.npz", run=observed()),
        roles=expand(f"{RUNS}/{{run}}/roles.json", run=asked("roles")),
        relevance=expand(f"{RUNS}/{{run}}/relevance.csv", run=asked("relevance")),
        heads=expand(
            f"{RUNS}/{{run}}/heads.json",
            run=[name for name in PLAN if name not in models()],
        ),
        lookup=expand(f"{DATA}/lookup.score.json", corpus=list(CORPORA)),
        speed=[f"{STUDY}/speed/{name}-s{seed}.json" for name, of in CORPORA.items() for seed in of.seeds],
    output:
        expand(f"{TABLES}/{{table}}.csv", table=headcount.analysis.TABLES),
    log:
        f"{LOGS}/analyse.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        names=list(PLAN),
        code=code("analysis.runs"),
        study=lambda wildcards: STUDY,
        folder=lambda wildcards: TABLES,
    message:
        "analyse: run folders to tidy tables"
    shell:
        "python -m headcount analyse --study {params.study} --out {params.folder} {params.names} > {log} 2>&1"


rule claims:
    input:
        tables=rules.analyse.output,
        papers=expand(f"{workflow.basedir}/workflow/claims/{{paper}}.yaml", paper=PAPERS),
    output:
        claims=f"{TABLES}/claims.csv",
        numbers=f"{TABLES}/paper_numbers.csv",
    log:
        f"{LOGS}/claims.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        papers=PAPERS,
        code=code("claims.judge", *(f"claims.{paper}" for paper in PAPERS)),
        tables=lambda wildcards: TABLES,
        folder=lambda wildcards: f"{workflow.basedir}/workflow/claims",
    message:
        "claims: what the papers say against what the study found"
    shell:
        "python -m headcount claims --tables {params.tables} --claims {params.folder} --out {params.tables}"
        " {params.papers} > {log} 2>&1"
