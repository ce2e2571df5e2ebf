# Models that are trained from scratch with all heads.


rule train_baseline:
    input:
        training_inputs,
    output:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
    log:
        f"{LOGS}/train/{{run}}.log",
    benchmark:
        f"{LOGS}/train/{{run}}.benchmark.tsv"
    wildcard_constraints:
        run=stage("train_baseline"),
    priority: 100  # everything waits for it
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        gpu=0,  # processes that share every batch, each with a GPU of its own; profiles ask for more
    params:
        settings=settings,
        code=stage_code,
        data=data_folder,
        folder=folder,
        parents=parents,
    message:
        "train_baseline: {wildcards.run}"
    shell:
        "python -m headcount train --ranks {resources.gpu} --settings {params.settings:q} --code {params.code}"
        " --data {params.data} --out {params.folder} {params.parents} 2>&1 | tee {log}"


use rule train_baseline as train_entmax with:
    output:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
    wildcard_constraints:
        run=stage("train_entmax"),
    priority: 40
    message:
        "train_entmax: {wildcards.run}"


use rule train_baseline as train_smaller with:
    output:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
    wildcard_constraints:
        run=stage("train_smaller"),
    priority: 35
    message:
        "train_smaller: {wildcards.run}"
