rule translate:
    input:
        weights=f"{RUNS}/{{run}}/model.safetensors",
        shape=f"{RUNS}/{{run}}/model.json",
        subword=of_corpus("subword.model"),
        text=of_corpus("corpus/test.source"),
    output:
        hypotheses=f"{RUNS}/{{run}}/test.hypotheses",
    log:
        f"{LOGS}/translate/{{run}}.log",
    benchmark:
        f"{LOGS}/translate/{{run}}.benchmark.tsv"
    wildcard_constraints:
        run=one_of(models()),
    conda:
        "../../envs/core.yaml"
    threads: 1
    params:
        beam=lambda wildcards: own(wildcards).evaluation.beam,
        length_penalty=lambda wildcards: own(wildcards).evaluation.length_penalty,
        length_ratio=lambda wildcards: own(wildcards).evaluation.length_ratio,
        length_extra=lambda wildcards: own(wildcards).evaluation.length_extra,
        sentences_per_batch=lambda wildcards: own(wildcards).evaluation.sentences_per_batch,
        code=code("stages.translate"),
        folder=folder,
    message:
        "translate: {wildcards.run}"
    shell:
        "python -m headcount translate --model {params.folder} --subword {input.subword} --beam {params.beam}"
        " --length-penalty {params.length_penalty} --length-ratio {params.length_ratio}"
        " --length-extra {params.length_extra} --sentences-per-batch {params.sentences_per_batch}"
        " {input.text} {output.hypotheses} > {log} 2>&1"


use rule translate as teach with:
    input:
        weights=lambda wildcards: f"{RUNS}/{TEACHERS[wildcards.corpus].run}/model.safetensors",
        shape=lambda wildcards: f"{RUNS}/{TEACHERS[wildcards.corpus].run}/model.json",
        subword=lambda wildcards: of_corpus("subword.model")(TEACHERS[wildcards.corpus]),
        text=lambda wildcards: TRANSLATIONS[wildcards.corpus]["sources"],
    output:
        hypotheses=f"{DATA}/teacher.target",
    log:
        f"{LOGS}/teach/{{corpus}}.log",
    benchmark:
        f"{LOGS}/teach/{{corpus}}.benchmark.tsv"
    wildcard_constraints:
        corpus=one_of(TEACHERS),
    priority: 110  # like the preparation of other corpora
    params:
        beam=lambda wildcards: TRANSLATIONS[wildcards.corpus]["beam"],
        length_penalty=lambda wildcards: own(TEACHERS[wildcards.corpus]).evaluation.length_penalty,
        length_ratio=lambda wildcards: own(TEACHERS[wildcards.corpus]).evaluation.length_ratio,
        length_extra=lambda wildcards: own(TEACHERS[wildcards.corpus]).evaluation.length_extra,
        sentences_per_batch=lambda wildcards: own(TEACHERS[wildcards.corpus]).evaluation.sentences_per_batch,
        code=code("stages.translate"),
        folder=lambda wildcards: folder(TEACHERS[wildcards.corpus]),
    message:
        "teach: {wildcards.corpus}: training sources translated by the teacher"


rule score:
    input:
        hypotheses=f"{RUNS}/{{run}}/test.hypotheses",
        baseline=baseline_hypotheses,
        partner=partner_hypotheses,
        references=of_corpus("corpus/test.target"),
        near_duplicates=of_corpus("near_duplicates.json"),
    output:
        score=f"{RUNS}/{{run}}/score.json",
    log:
        f"{LOGS}/score/{{run}}.log",
    wildcard_constraints:
        run=one_of(models()),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        tokenizer=lambda wildcards: own(wildcards).evaluation.bleu_tokenizer,
        samples=lambda wildcards: own(wildcards).evaluation.bootstrap_samples,
        partner=lambda wildcards, input: [f"--partner {path}" for path in input.partner],
        code=code("stages.score"),
    message:
        "score: {wildcards.run}"
    shell:
        "python -m headcount score --references {input.references} --baseline {input.baseline} {params.partner}"
        " --near-duplicates {input.near_duplicates} --tokenizer {params.tokenizer} --samples {params.samples}"
        " {input.hypotheses} {output.score} > {log} 2>&1"


rule score_lookup:
    input:
        hypotheses=f"{DATA}/lookup.hypotheses",
        references=f"{DATA}/corpus/test.target",
        near_duplicates=f"{DATA}/near_duplicates.json",
    output:
        score=f"{DATA}/lookup.score.json",
    log:
        f"{LOGS}/score/lookup-{{corpus}}.log",
    wildcard_constraints:
        corpus=one_of(CORPORA),
    localrule: True
    conda:
        "../../envs/core.yaml"
    params:
        tokenizer=lambda wildcards: own(wildcards).evaluation.bleu_tokenizer,
        samples=lambda wildcards: own(wildcards).evaluation.bootstrap_samples,
        code=code("stages.score"),
    message:
        "score_lookup: {wildcards.corpus}: translation of the most similar training sentence"
    shell:
        "python -m headcount score --references {input.references}"
        " --near-duplicates {input.near_duplicates} --tokenizer {params.tokenizer} --samples {params.samples}"
        " {input.hypotheses} {output.score} > {log} 2>&1"


rule speed:
    input:
        models=lambda wildcards: [f"{RUNS}/{run}/model.safetensors" for run in models_of_seed(wildcards)],
        subword=f"{DATA}/subword.model",
        text=f"{DATA}/corpus/test.source",
    output:
        speed=f"{STUDY}/speed/{{corpus}}-s{{seed}}.json",
    log:
        f"{LOGS}/speed/{{corpus}}-s{{seed}}.log",
    benchmark:
        f"{LOGS}/speed/{{corpus}}-s{{seed}}.benchmark.tsv"
    wildcard_constraints:
        corpus=one_of(CORPORA),
        seed=r"\d+",
    conda:
        "../../envs/core.yaml"
    threads: 1
    params:
        beams=lambda wildcards: [f"--beam {size}" for size in own(wildcards).evaluation.speed_beams],
        batches=lambda wildcards: [f"--sentences-per-batch {size}" for size in own(wildcards).evaluation.speed_batches],
        length_penalty=lambda wildcards: own(wildcards).evaluation.length_penalty,
        length_ratio=lambda wildcards: own(wildcards).evaluation.length_ratio,
        length_extra=lambda wildcards: own(wildcards).evaluation.length_extra,
        sentences=lambda wildcards: own(wildcards).evaluation.speed_sentences,
        repeats=lambda wildcards: own(wildcards).evaluation.speed_repeats,
        code=code("stages.speed"),
        runs=lambda wildcards: RUNS,
        names=models_of_seed,
    message:
        "speed: dense against removed, same search, {wildcards.corpus}, seed {wildcards.seed}"
    shell:
        "python -m headcount speed --subword {input.subword} --text {input.text} {params.beams} {params.batches}"
        " --length-penalty {params.length_penalty} --length-ratio {params.length_ratio}"
        " --length-extra {params.length_extra} --sentences {params.sentences} --repeats {params.repeats}"
        " --runs {params.runs} --out {output.speed} {params.names} > {log} 2>&1"
