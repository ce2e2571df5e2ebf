rule analyse:
    input:
        scores=expand(f"{RUNS}/{{run}}/score.json", run=models()),
        observations=expand(f"{RUNS}/{{run}}/observation.npz", run=observed()),
        heads=expand(
            f"{RUNS}/{{run}}/heads.json",
            run=[name for name in PLAN if name not in models()],
        ),
        lookup=expand(f"{DATA}/lookup.score.json", corpus=list(CORPORA)),
        speed=[f"{STUDY}/speed/{name}-s{seed}.json" for name, of in CORPORA.items() for seed in of.seeds],
    output:
        runs=f"{TABLES}/runs.csv",
        curves=f"{TABLES}/curves.csv",
        heads=f"{TABLES}/heads.csv",
        gates=f"{TABLES}/gates.csv",
        alpha=f"{TABLES}/alpha.csv",
        density=f"{TABLES}/density.csv",
        observations=f"{TABLES}/observations.csv",
    log:
        f"{LOGS}/analyse.log",
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
