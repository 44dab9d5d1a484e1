"""The form of the sandbox: the transport and what is seen, the configuration from the table, the requests."""

import json
from dataclasses import replace

from ..figures.forms import transport
from ..figures.html import element, escape
from ..figures.words import Words
from ..parameter import Parameter, Value
from ..parameters import CONFIG, by_name
from .controls import BASELINE, MAX_STEPS, NAME, STEP, VIEW, first_values
from .request_table import request_table
from .run import run_of

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "budget",
        (
            *("max_num_batched_tokens", "max_num_seqs", "enable_chunked_prefill", "policy", "max_model_len"),
            *("max_num_scheduled_tokens", "max_num_active_seqs"),
        ),
    ),
    (
        "blocks",
        ("num_gpu_blocks", "block_size", "enable_prefix_caching", "watermark", "scheduler_reserve_full_isl"),
    ),
    (
        "prefill",
        ("long_prefill_token_threshold", "long_prefill_token_threshold_adaptive", "prefill_schedule_interval"),
    ),
    ("speculation", ("num_speculative_tokens", "num_lookahead_tokens", "draft_slots_per_request")),
    (
        "other",
        (
            *("async_scheduling", "encoder_compute_budget", "encoder_cache_size", "disable_chunked_mm_input"),
            *("max_loras", "cost_model"),
        ),
    ),
)
"""The keys of the configuration in groups; the first two are open at the start."""


def form(words: Words) -> str:
    """All of it."""
    values = first_values()
    return _bar(values, words) + _scenario(values, words)


# ---------------------------------------------------------------- what is looked at


def _bar(values: dict[str, Value], words: Words) -> str:
    last = max(run_of(values).num_steps - 1, 0)
    slider = transport("sandbox", replace(STEP, maximum=last), values["step"], words, most=MAX_STEPS)
    _, columns, row, request, event = VIEW
    fields = (
        _select(columns, values[columns.name], words),
        _select(event, values[event.name], words),
        _find(request, words),
        _number(row, values[row.name], words),
    )
    return element("div", {"class": "bar"}, slider, element("div", {"class": "view"}, *fields))


def _select(parameter: Parameter, value: Value, words: Words) -> str:
    name = parameter.name
    options = [
        element("option", {"value": choice, "selected": choice == value}, words.html(f"sandbox.{name}.{choice}"))
        for choice in parameter.choices
    ]
    data = {"id": f"sandbox-{name}", "name": name, "autocomplete": "off"}
    return _labelled(name, element("select", data, *options), words)


def _labelled(name: str, control: str, words: Words) -> str:
    label = element("label", {"for": f"sandbox-{name}"}, words.html(f"sandbox.{name}"))
    return element("div", {"class": "labelled", "data-control": name, "data-tells": True}, label, control)


def _find(parameter: Parameter, words: Words) -> str:
    data = {"id": f"sandbox-{parameter.name}", "name": parameter.name, "type": "search", "maxlength": parameter.maximum}
    data |= {"spellcheck": "false", "aria-keyshortcuts": "/", "data-find": True, "size": 8}
    return _labelled(parameter.name, element("input", data), words)


def _number(parameter: Parameter, value: Value, words: Words) -> str:
    data = {"id": f"sandbox-{parameter.name}", "name": parameter.name, "type": "number", "step": 1, "required": True}
    data |= {"min": parameter.minimum, "max": parameter.maximum, "value": value}
    return _labelled(parameter.name, element("input", data), words)


# ---------------------------------------------------------------- the scenario


def _scenario(values: dict[str, Value], words: Words) -> str:
    rows = by_name(CONFIG)
    groups = [
        element(
            "details",
            {"class": "group", "id": f"sandbox-group-{name}", "open": index < 2},
            element("summary", None, words.html(f"sandbox.group.{name}")),
            *(_field(rows[key], values[key], words) for key in keys),
        )
        for index, (name, keys) in enumerate(GROUPS)
    ]
    history = [
        element("button", {"type": "button", "data-history": by, "disabled": True}, words.html(f"sandbox.{name}"))
        for name, by in (("undo", -1), ("redo", 1))
    ]
    buttons = element("p", {"class": "buttons"}, *history)
    table = request_table(str(values["requests"]), words)
    return element("div", {"class": "scenario"}, buttons, table, *groups, _texts(values, words))


def _field(parameter: Parameter, value: Value, words: Words) -> str:
    """A key of the configuration: name, control, what it means, unit, range, default, flag."""
    name = parameter.name
    identity, about = f"sandbox-{name}", f"sandbox-{name}-help"
    data: dict[str, object] = {"id": identity, "name": name, "aria-describedby": about}
    data["data-default"] = json.dumps(parameter.default)
    label = element("label", {"for": identity}, element("code", {"translate": "no"}, name.replace("_", "_<wbr>")))
    match parameter.kind:
        case "bool":
            control = element("input", data | {"type": "checkbox", "checked": value is True})
        case "choice":
            options = [element("option", {"selected": choice == value}, choice) for choice in parameter.choices]
            control = element("select", data | {"autocomplete": "off"}, *options)
        case _:
            control = element("input", data | _limits(parameter, value))
    help_text = parameter.help_zh if words.language == "zh" else parameter.help_en
    told = element("p", {"class": "help", "id": about}, escape(help_text), " ", _facts(parameter, words))
    place = {"class": f"field {parameter.kind}", "data-control": name, "data-tells": True}
    return element("div", place, label, control, told)


def _limits(parameter: Parameter, value: Value) -> dict[str, object]:
    row: dict[str, object] = {"type": "number", "min": parameter.minimum, "max": parameter.maximum, "value": value}
    row["step"] = "any" if parameter.kind == "number" else 1
    row["placeholder"] = parameter.none_means or None
    row["required"] = not parameter.none_means
    return row


def _facts(parameter: Parameter, words: Words) -> str:
    """Default, range, unit and flag in one quiet line."""
    facts = [words.html("sandbox.default", value=_default(parameter))]
    if parameter.kind in ("int", "number"):
        unit = words(f"unit.{parameter.unit}") if parameter.unit else ""
        facts.append(escape(f"{parameter.minimum:,}–{parameter.maximum:,} {unit}".strip()))
    if parameter.flag:
        facts.append(element("code", {"translate": "no"}, escape(parameter.flag)))
    return element("span", {"class": "limits"}, " · ".join(facts))


def _default(parameter: Parameter) -> str:
    value = parameter.default
    match value:
        case None:
            return parameter.none_means
        case bool():
            return str(value).lower()
        case int():
            return f"{value:,}"
        case _:
            return str(value)


def _texts(values: dict[str, Value], words: Words) -> str:
    """The name, the baseline, and the whole scenario as JSON."""
    name = {"id": "sandbox-name", "name": NAME.name, "value": values["name"], "maxlength": NAME.maximum}
    baseline = {"id": "sandbox-baseline", "name": BASELINE.name, "rows": 2, "spellcheck": "false"}
    whole = {"id": "sandbox-json", "rows": 12, "spellcheck": "false", "autocomplete": "off", "data-scenario-text": True}
    label = element("label", {"for": "sandbox-json"}, words.html("sandbox.json.label"))
    problem = element("p", {"data-json-problem": True, "role": "alert", "hidden": True})
    parts = (
        _labelled("name", element("input", name | {"type": "text", "autocomplete": "off"}), words),
        _labelled("baseline", element("textarea", baseline | {"autocomplete": "off"}), words),
        element("div", {"class": "labelled"}, label, element("textarea", whole), problem),
    )
    summary = element("summary", None, words.html("sandbox.json"))
    return element("details", {"class": "group", "id": "sandbox-group-json"}, summary, *parts)
