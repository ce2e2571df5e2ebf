# Two commands from a fresh clone: `make reproduce` and `make test`. Each makes .venv when it is missing.
PYTHON ?= python3
CONFIG ?=
PORT ?=
BIN := .venv/bin
SNAKEMAKE := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/snakemake $(if $(CONFIG),--configfile $(CONFIG))
STUDY = $(shell $(BIN)/headcount plan $(if $(CONFIG),--configfile $(CONFIG)) --name)
RESULTS = results/$(STUDY)

.DEFAULT_GOAL := help
.PHONY: help setup reproduce smoke plan report ui test check config rulegraph publish bench

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

.venv/.done: pyproject.toml envs/constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "headcount needs Python 3.11 or newer")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c envs/constraints.txt -e ".[dev,slurm,parse]"
	touch $@

setup: .venv/.done  ## make .venv with every pinned package

reproduce: .venv/.done  ## the default study (or CONFIG=configs/x.yaml), its report and its MLflow runs
	$(SNAKEMAKE)
	@$(MAKE) --no-print-directory report CONFIG=$(CONFIG)

smoke: .venv/.done  ## everything in miniature on a synthetic language, minutes
	@$(MAKE) --no-print-directory reproduce CONFIG=configs/smoke.yaml

plan: .venv/.done  ## what would run: checks, runs, parents, estimated cost
	$(BIN)/headcount check $(if $(CONFIG),--configfile $(CONFIG))
	$(BIN)/headcount plan $(if $(CONFIG),--configfile $(CONFIG))
	$(SNAKEMAKE) --dry-run --quiet host rules

report: .venv/.done  ## results/<study>/report.html, one offline page
	@$(MAKE) --no-print-directory $(RESULTS)/report.html CONFIG=$(CONFIG)
	@$(BIN)/headcount summary --study $(RESULTS)

results/%/report.html: results/%/tables/runs.csv results/%/figures/all-summary_table.html
	$(SNAKEMAKE) --quiet all --report $@
	$(BIN)/headcount track $(if $(CONFIG),--configfile $(CONFIG)) --study results/$* || true

ui: .venv/.done  ## MLflow in the browser (or PORT=5001)
	$(BIN)/headcount ui $(if $(CONFIG),--configfile $(CONFIG)) $(if $(PORT),--port $(PORT))

publish: .venv/.done  ## tables and figures of a finished study into docs/results/<study>/
	$(BIN)/headcount publish --study $(RESULTS) --out docs/results/$(STUDY) $(if $(CONFIG),--configfile $(CONFIG))

test: .venv/.done  ## every test, minutes
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --no-loadscope-reorder

check: .venv/.done  ## formatting, lint, types, import rules, workflow lint, spelling, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/lint-imports
	$(SNAKEMAKE) --lint
	$(BIN)/codespell
	$(BIN)/headcount config --check

config: .venv/.done  ## write config.yaml, the JSON schema and docs/config.md from the settings model
	$(BIN)/headcount config

bench: .venv/.done  ## speed beside other toolkits (or ONLY="name name"), a quarter of an hour and the default study
	$(BIN)/python -m benchmarks $(ONLY)

rulegraph: .venv/.done  ## docs/img/rulegraph.svg, every rule but the figures (needs graphviz)
	mkdir -p docs/img
	$(SNAKEMAKE) claims --rulegraph | dot -Tsvg > docs/img/rulegraph.svg
