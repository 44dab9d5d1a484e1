"""Answers of Prometheus' HTTP interface (`query` and `query_range`) as lines of its text form, with their times."""

import json
from collections.abc import Iterator
from typing import Any

from ..errors import ConfigError
from ..parameters import shown


def answer_lines(text: str) -> Iterator[str]:
    """A line for each sample.

    Args:
        text: the answer, in JSON.

    Raises:
        ConfigError: no answer of that interface.
    """
    try:
        answer: Any = json.loads(text)
        results = [
            (dict(item["metric"]), item["values"] if "values" in item else [item["value"]])
            for item in answer["data"]["result"]
        ]
    except ValueError as error:
        raise ConfigError("", f"is not JSON, or is cut: {error}") from None
    except (KeyError, TypeError, AttributeError, RecursionError):
        raise ConfigError("", "is no answer of Prometheus, must have data.result with metric and values") from None
    for metric, values in results:
        name = metric.pop("__name__", "")
        labels = ",".join(f'{key}="{_escaped(value)}"' for key, value in metric.items())
        for sample in values:
            if not isinstance(sample, list) or len(sample) != 2 or not isinstance(sample[0], int | float):
                raise ConfigError(str(name), f"{shown(sample)} is not allowed, must be a time and a value")
            yield f"{name}{{{labels}}} {sample[1]} {float(sample[0]):.3f}"


def _escaped(value: object) -> str:
    return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
