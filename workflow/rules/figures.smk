# Every figure and table is a rule of its own name: tidy tables in, one picture or page with its caption out.

for figure, place in figure_names(tables=False).items():

    rule:
        name:
            figure
        input:
            tables=drawn_from(),
        output:
            svg=report(
                f"{FIGURES}/{place}-{figure}.svg",
                caption=f"../report/{figure}.rst",
                category=place.partition("-")[0],
                labels={"figure": figure, "study": SETTINGS.study},
            ),
            pdf=f"{FIGURES}/{place}-{figure}.pdf",
        log:
            f"{LOGS}/figures/{place}-{figure}.log",
        localrule: True
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


for figure, place in figure_names(tables=True).items():

    rule:
        name:
            figure
        input:
            tables=drawn_from(),
        output:
            html=report(
                f"{FIGURES}/{place}-{figure}.html",
                caption=f"../report/{figure}.rst",
                category=place.partition("-")[0],
                labels={"figure": figure, "study": SETTINGS.study},
            ),
            markdown=f"{FIGURES}/{place}-{figure}.md",
        log:
            f"{LOGS}/figures/{place}-{figure}.log",
        localrule: True
        conda:
            "../../envs/core.yaml"
        params:
            code=code(f"figures.{figure}"),
            figure=figure,
            tables=lambda wildcards: TABLES,
        message:
            "table: {params.figure}"
        shell:
            "python -m headcount figure {params.figure} --tables {params.tables} --out {output.html} > {log} 2>&1"
