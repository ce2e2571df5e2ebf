"""Finished runs → tidy tables, free of torch."""

TABLES = (
    "runs",
    "heads",
    "rounds",
    "speeds",
    "curves",
    "gates",
    "alpha",
    "observations",
    "density",
    "links",
    "maps",
    "roles",
    "relations",
    "relevance",
    "agreement",
)
"""Names of the tables that every study has; one may be empty but for its header."""
