"""Runs and configurations in the formats of other tools, one format a module."""

from ..serve_command import serve_command
from .csv_tables import requests_csv, steps_csv
from .html import html
from .perfetto import perfetto
from .svg import svg
from .sweep_html import sweep_html

__all__ = ["FORMATS", "html", "perfetto", "requests_csv", "serve_command", "steps_csv", "svg", "sweep_html"]

FORMATS = {
    "perfetto": "for ui.perfetto.dev and chrome://tracing: a track a request, counters",
    "steps-csv": "a table, one row a step",
    "requests-csv": "a table, one row a request",
    "svg": "a picture of the run: a row a request, a column a step",
    "html": "one file with picture, numbers, tables and the scenario",
    "serve-command": "a vllm serve line with the configuration of a scenario",
}
"""Every format, and what it gives."""
