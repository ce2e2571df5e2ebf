rule track:
    input:
        tables=rules.analyse.output,
        figures=figure_files(),
    output:
        receipt=f"{STUDY}/tracked.json",
    log:
        f"{LOGS}/track.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        study=lambda wildcards: STUDY,
        names=list(PLAN),
        uri=SETTINGS.tracking.uri,
        code=code("tracking.sync"),
    message:
        "track: run folders into MLflow"
    shell:
        "python -m headcount track --study {params.study} --uri={params.uri:q} --receipt {output.receipt}"
        " {params.names} summary > {log} 2>&1"
