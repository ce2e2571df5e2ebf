"""The two pages that people look at, seen through a browser: MLflow's of a study, and the report.

Each test leaves a picture of what it saw in `build/screenshots/`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headcount.config import read
from headcount.plan import runs
from mlflow_server import free_port
from needs import needs

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
SMOKE = ROOT / "configs" / "smoke.yaml"
PICTURES = ROOT / "build" / "screenshots"
PATIENCE = 120_000
"""Milliseconds that a page may take; charts are drawn by the processor here."""


@pytest.fixture(scope="module")
def browser():
    [chromium] = needs("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # root may have no sandbox, and a container a small /dev/shm
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        with playwright.chromium.launch(executable_path=chromium, args=options, timeout=PATIENCE) as chrome:
            yield chrome


@pytest.fixture
def page(browser):
    opened = browser.new_page(viewport={"width": 1500, "height": 1000})
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()


def picture(page, name: str) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", timeout=PATIENCE)


@pytest.fixture(scope="module")
def address(browser, smoke: Path, tmp_path_factory):
    """Return the address that `make ui` says once its server runs."""
    shutil.copy(ROOT / "config.yaml", smoke)
    command = [sys.executable, "-m", "headcount", "ui", "--configfile", str(SMOKE), "--port", str(free_port())]
    log = tmp_path_factory.mktemp("ui") / "log"
    with log.open("w") as out, subprocess.Popen(command, cwd=smoke, stderr=out, start_new_session=True) as ui:
        while not (said := re.search(r"^open (\S+)", log.read_text(), flags=re.MULTILINE)):
            assert ui.poll() is None, log.read_text()
            time.sleep(0.2)
        yield said[1]
        os.killpg(ui.pid, signal.SIGINT)  # as Ctrl-C does
        assert ui.wait(60) == 0


def test_the_page_of_mlflow_shows_every_run_and_its_scores(page, address):
    page.goto(address)
    page.get_by_text("baseline-s1", exact=True).first.wait_for()
    close_what_is_in_the_way(page)
    shown = page.inner_text("body")
    picture(page, "mlflow-runs")
    headings = {text.strip() for text in page.locator("[role=columnheader]").all_inner_texts()}
    assert {"score/bleu", "heads/total", "method", "seed"} <= headings
    number = int(re.search(r"(\d+)\s+matching runs", shown)[1])
    plan = runs(read(ROOT / "config.yaml", SMOKE)).values()
    assert number >= len([run for run in plan if run.trains_a_model])  # rounds are folded into their lottery
    assert "baseline-s1" in shown
    assert "how many attention heads" in shown


def test_charts_show_bleu_against_heads_and_the_curves(page, address):
    page.goto(f"{address}&compareRunsMode=CHART")
    close_what_is_in_the_way(page)
    page.get_by_text("heads/total vs. score/bleu").wait_for()
    lines = page.locator(".js-plotly-plot .scatterlayer .trace .lines path")
    lines.first.wait_for(state="attached")
    page.wait_for_timeout(3000)  # the other charts
    picture(page, "mlflow-charts")
    for title in ("train/loss", "valid/bleu"):
        assert page.get_by_text(title, exact=True).first.is_visible()
    assert page.locator(".js-plotly-plot").count() >= 4
    assert lines.count() >= 4


def test_a_run_has_its_tags_its_curves_and_what_it_asked_of_the_machine(page, address):
    page.goto(address)
    page.get_by_text("baseline-s1", exact=True).first.click()
    page.get_by_text("About this run").wait_for()
    close_what_is_in_the_way(page)
    shown = page.inner_text("body")
    picture(page, "mlflow-run")
    for tag in ("paper", "method", "seed", "stage", "headcount.settings"):
        assert tag in shown
    page.get_by_role("tab", name="System metrics").click()
    page.get_by_text("cpu_percent").first.wait_for()
    page.locator(".js-plotly-plot .main-svg").first.wait_for()
    page.wait_for_timeout(2000)
    picture(page, "mlflow-system")
    assert page.get_by_text("memory_megabytes").count()


def close_what_is_in_the_way(page) -> None:
    """Close the panel and the banner that MLflow shows to newcomers."""
    for button in ("Close", "Hide banner"):
        found = page.get_by_role("button", name=button, exact=True)
        if found.count():
            found.first.click()


@pytest.mark.parametrize(("category", "figure"), [("all", "bleu_by_heads"), ("voita2019", "head_map")])
def test_the_report_shows_its_figures(page, report, category, figure):
    """Open one as a reader does: its paper in the menu, then the eye at the end of its row."""
    page.goto(report.as_uri())
    page.locator("a, button").get_by_text(category, exact=True).last.click()
    row = page.get_by_role("row").filter(has=page.get_by_text(figure, exact=True))
    row.locator("a").first.click()
    drawn = page.locator("img[src^='data:image/svg']").last
    drawn.wait_for()
    picture(page, f"report-{figure}")
    assert drawn.evaluate("image => image.complete && image.naturalWidth > 100")
