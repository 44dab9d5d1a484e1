"""Results as text to be read, at most 80 columns wide."""

import textwrap
from itertools import islice

from ..metrics import Goodput, Percentiles, Summary
from ..onestep import coming_steps, onestep

INDENT = "  "
LABEL_WIDTH = 22
MOST_STEPS = 12
MOST_WARNINGS = 5
WIDTH = 79


def onestep_table(D: int, P: int, B: int, M: int, policy: str, chunked_prefill: bool) -> str:
    """One step and those that follow with the same decodes, as a table. Arguments as for `onestep`."""
    arguments = (D, P, B, M, policy, chunked_prefill)
    first = onestep(*arguments)
    chunks = "on" if chunked_prefill else "off"
    lines = [
        f"D {D}, P {P}, B {B}, M {M}, {policy}, chunked prefill {chunks}",
        "",
        "step      decode     prefill  prefill left        idle",
    ]
    never = first.steps_to_finish_prefill is None
    for index, step in enumerate(islice(coming_steps(*arguments), 1 if never else MOST_STEPS)):
        lines.append(f"{index:>4}{step.decode:>12}{step.prefill:>12}{step.prefill_left:>14}{step.idle:>12}")
    if never:
        return "\n".join([*lines, "", "Every step is like this one: the prompt is never finished.", ""])
    steps = first.steps_to_finish_prefill or 0
    if steps > MOST_STEPS:
        lines.append(" ...")
    return "\n".join([*lines, "", f"The prompt is finished after {_counted(steps, 'step')}.", ""])


def summary_table(summary: Summary) -> str:
    """A summary as a table with a heading."""
    known = summary.budget is not None and summary.budget_used_permille is not None
    rows = [
        ("outcome", summary.outcome),
        ("requests", f"{_number(summary.requests)}, {_number(summary.finished)} finished"),
        ("steps", f"{_number(summary.steps)}, {_number(summary.idle_steps)} of them idle"),
        ("tokens scheduled", _number(summary.scheduled_tokens)),
        *((f"{INDENT}{name}", _number(count)) for name, count in _kinds(summary)),
        ("tokens generated", _number(summary.generated_tokens)),
        *([("tokens from cache", _number(summary.cached_tokens))] if summary.cached_tokens else []),
        ("budget used", _budget_used(summary) if known else "unknown"),
        ("preemptions", _number(summary.preemptions)),
        ("waiting", _queue(summary.waiting_max, summary.waiting_mean_thousandths)),
        ("running", _queue(summary.running_max, summary.running_mean_thousandths)),
    ]
    if summary.duration_us is not None:
        rows.append(("time", f"{_number(summary.duration_us)} us"))
    if summary.goodput is not None:
        rows.append(("goodput", _goodput(summary.goodput)))
    lines = [one_line(summary.name or "(no name)"), *(f"{INDENT}{name:<{LABEL_WIDTH}}{value}" for name, value in rows)]
    lines += ["", f"{INDENT}{'':<{LABEL_WIDTH}}" + "".join(f"{name:>16}" for name in Percentiles._fields)]
    lines += [
        _percentile_row("first token, steps", summary.ttft_steps),
        _percentile_row("between tokens, steps", summary.itl_steps),
        _percentile_row("last token, steps", summary.e2e_steps),
    ]
    if summary.duration_us is not None:
        lines += [
            _percentile_row("first token, us", summary.ttft_us),
            _percentile_row("between tokens, us", summary.itl_us),
            _percentile_row("last token, us", summary.e2e_us),
        ]
    return "\n".join([*lines, *_warnings(summary.warnings), ""])


def refusal_table(name: str | None, error: str, message: str) -> str:
    """What stands in place of a table where vLLM refuses the configuration."""
    return f"{one_line(name or '(no name)')}\n{wrapped(f'refused ({error}): {message}')}\n"


def _kinds(summary: Summary) -> list[tuple[str, int]]:
    kinds = [("prefill", summary.prefill_tokens), ("decode", summary.decode_tokens)]
    rare = [("recomputed", summary.recomputed_tokens), ("rejected drafts", summary.rejected_draft_tokens)]
    return kinds + [(name, count) for name, count in rare if count]


def _budget_used(summary: Summary) -> str:
    permille = summary.budget_used_permille or 0
    return f"{permille // 10}.{permille % 10} % of {_number(summary.budget or 0)} tokens a step that was not idle"


def _queue(most: int, mean_thousandths: int) -> str:
    return f"at most {_number(most)}, mean {_thousandths(mean_thousandths)}"


def _goodput(goodput: Goodput) -> str:
    a_second = _thousandths(goodput.per_second_thousandths)
    return f"{_counted(goodput.requests, 'request')}, {a_second} a second"


def _percentile_row(name: str, values: Percentiles | None) -> str:
    cells = ("-",) * len(Percentiles._fields) if values is None else (_number(value) for value in values)
    return f"{INDENT}{name:<{LABEL_WIDTH}}" + "".join(f"{cell:>16}" for cell in cells)


def _warnings(warnings: tuple[str, ...]) -> list[str]:
    lines = [wrapped(f"warning: {warning}") for warning in warnings[:MOST_WARNINGS]]
    if len(warnings) > MOST_WARNINGS:
        lines.append(f"{INDENT}and {_counted(len(warnings) - MOST_WARNINGS, 'more warning')}")
    return ["", *lines] if lines else []


def wrapped(text: str, indent: str = INDENT) -> str:
    """`text` in lines of a table, those after the first further in."""
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent + INDENT)


def one_line(text: str) -> str:
    """`text` without line ends, cut to the width of a table."""
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."


def _thousandths(value: int) -> str:
    return f"{_number(value // 1000)}.{value % 1000:03}"


def _number(value: int) -> str:
    return f"{value:,}"


def _counted(count: int, noun: str) -> str:
    return f"{_number(count)} {noun}{'' if count == 1 else 's'}"
