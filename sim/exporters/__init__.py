"""Runs and configurations in the formats of other tools, one format a module."""

from .csv_tables import requests_csv, steps_csv
from .perfetto import perfetto
from .serve_command import serve_command

__all__ = ["FORMATS", "perfetto", "requests_csv", "serve_command", "steps_csv"]

FORMATS = {
    "perfetto": "for ui.perfetto.dev and chrome://tracing: a track a request, counters",
    "steps-csv": "a table, one row a step",
    "requests-csv": "a table, one row a request",
    "serve-command": "a vllm serve line with the configuration of a scenario",
}
"""Every format, and what it gives."""
