"""How the UI shows a study at first: columns, order and charts, in the form in which MLflow's UI shares a view.

The UI reads this from a tag of the experiment when the address names it. The form is the UI's own (3.x) and may change
with a release; the UI then falls back to its plain table, and nothing else depends on it.
"""

from __future__ import annotations

import json
from typing import Any

KEY = "headcount"
TAG = f"mlflow.sharedViewState.{KEY}"

SECTION = "overview"
COLUMNS = {
    "metrics": ("score/bleu", "heads/total", "score/chrf", "cost/seconds"),
    "tags": ("method", "seed", "scope", "setting"),
}
CURVES = ("train/loss", "valid/bleu", "heads/kept", "alpha/mean")


def view_state() -> str:
    """Return the view as JSON: runs by BLEU, BLEU against heads first among the charts, every run visible."""
    axes = {"xaxis": _axis("heads/total"), "yaxis": _axis("score/bleu")}
    charts = [
        _chart("SCATTER", "BLEU by heads", **axes),
        _chart("BAR", "score/bleu", metricKey="score/bleu"),
        *(_chart("LINE", metric, metricKey=metric, **_LINE) for metric in CURVES),
    ]
    section = {"uuid": SECTION, "name": KEY, "display": True, "isReordered": False, "deleted": False}
    state = {
        "selectedColumns": [f"{kind}.`{name}`" for kind, names in COLUMNS.items() for name in names],
        "orderByKey": "metrics.`score/bleu`",
        "orderByAsc": False,
        "runsHiddenMode": "SHOW_ALL",
        "compareRunCharts": charts,
        "compareRunSections": [section],
        "isAccordionReordered": True,  # keeps the section above those that the UI adds, one for each metric prefix
    }
    return json.dumps(state)


_LINE: dict[str, Any] = {
    "lineSmoothness": 0,
    "scaleType": "linear",
    "xAxisScaleType": "linear",
    "xAxisKey": "step",
    "yAxisKey": "metric",
    "yAxisExpressions": [],
    "range": {},
    "useGlobalXaxisKey": True,
    "useGlobalLineSmoothing": True,
}


def _axis(metric: str) -> dict[str, str]:
    return {"key": metric, "type": "METRIC"}


def _chart(kind: str, name: str, **settings: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": name,
        "displayName": name,
        "metricSectionId": SECTION,
        "deleted": False,
        "isGenerated": False,
        "runsCountToCompare": 100,
        **settings,
    }
