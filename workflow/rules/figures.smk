# Every figure is a rule of its own name: tidy tables in, one picture with its caption out.

for figure, (paper, _) in FIGURE_PAPERS.items():

    rule:
        name:
            figure
        input:
            tables=rules.analyse.output,
        output:
            svg=report(
                f"{FIGURES}/{paper}-{figure}.svg",
                caption=f"../report/{figure}.rst",
                category=paper,
                labels={"figure": figure, "study": SETTINGS.study},
            ),
            pdf=f"{FIGURES}/{paper}-{figure}.pdf",
        log:
            f"{LOGS}/figures/{paper}-{figure}.log",
        conda:
            "../../envs/core.yaml"
        params:
            code=code(f"figures.{figure}"),
            figure=figure,
            tables=lambda wildcards: TABLES,
        message:
            "figure: {params.figure}"
        shell:
            "python -m headcount figure {params.figure} --tables {params.tables} --out {output.svg} > {log} 2>&1"


rule summary_table:
    input:
        tables=rules.analyse.output,
    output:
        html=report(
            f"{FIGURES}/all-summary_table.html",
            caption="../report/summary_table.rst",
            category="all",
            labels={"figure": "summary_table", "study": SETTINGS.study},
        ),
        markdown=f"{FIGURES}/all-summary_table.md",
    log:
        f"{LOGS}/figures/all-summary_table.log",
    conda:
        "../../envs/core.yaml"
    params:
        code=code("figures.summary_table"),
        tables=lambda wildcards: TABLES,
    message:
        "summary_table: every run in one table"
    shell:
        "python -m headcount figure summary_table --tables {params.tables} --out {output.html} > {log} 2>&1"
