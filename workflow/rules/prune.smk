# Heads are removed: by gates, or in lottery rounds whose tickets are trained again; beside each its controls.


use rule train_baseline as lottery_round with:
    output:
        heads=f"{RUNS}/{{run}}/heads.json",
    wildcard_constraints:
        run=stage("lottery_round"),
    priority: 90  # the rounds are a chain, and the tickets wait for it
    message:
        "lottery_round: {wildcards.run}"


use rule train_baseline as train_ticket with:
    output:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
    wildcard_constraints:
        run=stage("train_ticket"),
    priority: 60
    message:
        "train_ticket: {wildcards.run}"


use rule train_baseline as train_reinit with:
    output:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
    wildcard_constraints:
        run=stage("train_reinit"),
    priority: 50
    message:
        "train_reinit: {wildcards.run}"


use rule train_baseline as finetune_l0 with:
    output:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
    wildcard_constraints:
        run=stage("finetune_l0"),
    priority: 30
    message:
        "finetune_l0: {wildcards.run}"


use rule train_baseline as train_scratch with:
    output:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
    wildcard_constraints:
        run=stage("train_scratch"),
    priority: 45
    message:
        "train_scratch: {wildcards.run}"


use rule train_baseline as finetune_removed with:
    output:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
    wildcard_constraints:
        run=stage("finetune_removed"),
    priority: 20
    message:
        "finetune_removed: {wildcards.run}"


use rule train_baseline as finetune_ranked with:
    output:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
    wildcard_constraints:
        run=stage("finetune_ranked"),
    priority: 25
    message:
        "finetune_ranked: {wildcards.run}"


use rule train_baseline as finetune_subset with:
    output:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
    wildcard_constraints:
        run=stage("finetune_subset"),
    priority: 28
    message:
        "finetune_subset: {wildcards.run}"
