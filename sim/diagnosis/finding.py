"""A finding: one thing that is wrong with a run, where it shows, and what to change."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..parameter import Value

Severity = Literal["error", "warning", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")
"""The worst first: some requests are never finished; they are late or get less; the run could do with less."""

Span = tuple[int, int]
"""First and last step, both included."""

Operands = Mapping[str, int | str]

Change = Mapping[str, Value]
"""Keys of the configuration with their new values."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Args:
        code: what it is; one of `CODES`.
        severity: one of `SEVERITIES`.
        spans: the steps in which it shows, in order, not touching each other; none where nothing ran.
        requests: ids of those that it concerns, in order of arrival.
        operands: what its sentence needs: numbers, ids, the code of a reason.
        change: what to try, accepted by vLLM; empty when nothing in the configuration can help.
    """

    code: str
    severity: Severity
    spans: tuple[Span, ...]
    requests: tuple[str, ...]
    operands: Operands = field(default_factory=dict)
    change: Change = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All of it, by name."""
        return {
            "code": self.code,
            "severity": self.severity,
            "spans": [list(span) for span in self.spans],
            "requests": list(self.requests),
            "operands": dict(self.operands),
            "change": dict(self.change),
        }


CODES = (
    *("refused", "never_fits", "livelock", "stalled", "output_cut", "starvation", "head_of_line", "thrash"),
    *("budget_unused", "prefill_stalls", "block_waste", "cache_off", "cache_blocks", "cache_evicted"),
)
"""What is looked for, in the order in which it is told among equals."""


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans in order, those that overlap or touch made one."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def num_steps(spans: Iterable[Span]) -> int:
    """Steps in spans that do not overlap."""
    return sum(last - first + 1 for first, last in spans)
