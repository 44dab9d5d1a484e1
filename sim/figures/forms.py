"""Native controls with their labels, and the buttons that work them. Names of controls are names of parameters."""

import json
from collections.abc import Mapping, Sequence

from ..parameters import Parameter, Value
from .html import element, escape
from .timeline import COLOURS, mark
from .words import Words

ICONS = {
    "first": "M5 4v12M16 4l-8 6 8 6z",
    "back": "M14 4l-8 6 8 6z",
    "play": "M6 3l11 7-11 7z",
    "pause": "M6 4h3v12h-3zM12 4h3v12h-3z",
    "forward": "M6 4l8 6-8 6z",
    "last": "M15 4v12M4 4l8 6-8 6z",
    "event-back": "M10 4l-7 6 7 6zM15.5 6.5l3 3.5-3 3.5-3-3.5z",
    "event-on": "M10 4l7 6-7 6zM4.5 6.5l3 3.5-3 3.5-3-3.5z",
}


def slider(figure: str, parameter: Parameter, value: Value, words: Words, *, plays: bool = False) -> str:
    """A range with its letter, what it means, vLLM's name for it, its value, and a button for one less and one more.

    With `plays` there is a button that moves it on by itself, up to its end.
    """
    identity, name = f"{figure}-{parameter.name}", parameter.name
    label = element(
        "label",
        {"for": identity},
        element("b", {"class": "letter"}, escape(name)),
        element("span", {"class": "meaning"}, escape(words(f"control.{name}"))),
        element("code", {"translate": "no"}, escape(words(f"control.{name}.vllm"))),
    )
    return element(
        "div",
        {"class": "control slider", "data-control": name},
        label,
        *_track(identity, parameter, value, words, plays=plays),
    )


def _track(identity: str, parameter: Parameter, value: Value, words: Words, *, plays: bool = False) -> tuple[str, str]:
    """The value in digits, and the range between its two buttons."""
    name, control = parameter.name, {"type": "range", "id": identity} | _limits(parameter, value)
    play = _icon("play", words, {"data-play": name, "aria-pressed": "false"}, also="pause") if plays else ""
    parts = (_nudge(name, -1, words), element("input", control), _nudge(name, 1, words), play)
    shown = element("output", {"data-for": name, "for": identity, "aria-live": "off"}, escape(value))
    return shown, element("div", {"class": "track plays" if plays else "track"}, *parts)


def _limits(parameter: Parameter, value: Value) -> dict[str, Value]:
    row: dict[str, Value] = {"name": parameter.name, "min": parameter.minimum, "max": parameter.maximum}
    return row | {"step": 1, "value": value}


def _nudge(name: str, by: int, words: Words) -> str:
    less = by < 0
    label = words("control.less" if less else "control.more", name=name)
    data = {"type": "button", "class": "nudge", "data-step-by": by, "data-for": name, "aria-label": label}
    return element("button", data, "−" if less else "+")


def radios(figure: str, parameter: Parameter, value: Value, words: Words) -> str:
    """A choice as radio buttons."""
    options = []
    for choice in parameter.choices:
        control = {"type": "radio", "name": parameter.name, "value": choice, "checked": choice == value}
        text = escape(words(f"control.{parameter.name}.{choice}"))
        options.append(element("label", None, element("input", control), element("span", None, text)))
    legend = element("legend", None, escape(words(f"control.{parameter.name}")))
    data = {"class": "control choice", "data-control": parameter.name, "id": f"{figure}-{parameter.name}"}
    return element("fieldset", data, legend, element("div", {"class": "options"}, *options))


def checkbox(parameter: Parameter, value: Value, words: Words) -> str:
    """A yes or no."""
    control = {"type": "checkbox", "name": parameter.name, "checked": value is True}
    return element(
        "label",
        {"class": "control check", "data-control": parameter.name},
        element("input", control),
        element("span", {"class": "meaning"}, escape(words(f"control.{parameter.name}"))),
        element("code", {"translate": "no"}, escape(words(f"control.{parameter.name}.vllm"))),
    )


def setting(figure: str, parameter: Parameter, value: Value, words: Words) -> str:
    """A range for a key of the scenario's configuration: what it means, its name, its value, one less, one more."""
    identity, name = f"{figure}-{parameter.name}", parameter.name
    meaning = element("span", {"class": "meaning"}, escape(words(f"setting.{name}")))
    label = element("label", {"for": identity}, meaning, element("code", {"translate": "no"}, escape(name)))
    return element(
        "div", {"class": "control slider", "data-control": name}, label, *_track(identity, parameter, value, words)
    )


def switch(parameter: Parameter, value: Value, words: Words) -> str:
    """A yes or no of the scenario's configuration."""
    control = {"type": "checkbox", "name": parameter.name, "checked": value is True}
    return element(
        "label",
        {"class": "control check", "data-control": parameter.name},
        element("input", control),
        element("span", {"class": "meaning"}, escape(words(f"setting.{parameter.name}"))),
        element("code", {"translate": "no"}, escape(parameter.name)),
    )


def request_buttons(ids: Sequence[str], words: Words) -> str:
    """A button for each request, by which it is lit up everywhere in the figure; they also tell the marks."""
    buttons = [
        request_button(f"r{place % COLOURS}", request_id, mark(place) + escape(request_id))
        for place, request_id in enumerate(ids)
    ]
    return button_group(buttons, words)


def prompt_and_decodes(decodes: str, words: Words) -> str:
    """Buttons for the two sides of a step: the prompt `P`, and all decodes, whose ids are `decodes`."""
    buttons = [
        request_button("", decodes, words.html("requests.decodes")),
        request_button("", "P", words.html("requests.prompt")),
    ]
    return button_group(buttons, words)


def request_button(kind: str, ids: str, text: str) -> str:
    """One such button.

    Args:
        kind: class of its colour.
        ids: what it lights up, with spaces between.
        text: markup.
    """
    return element(
        "button",
        {"type": "button", "class": f"who {kind}".rstrip(), "data-request": ids, "aria-pressed": "false"},
        text,
    )


def button_group(buttons: Sequence[str], words: Words) -> str:
    """Such buttons with the words that say what they do."""
    name = element("span", {"class": "part-name"}, escape(words("requests")))
    data = {"class": "requests", "role": "group", "aria-label": words("requests"), "data-part": "requests"}
    return element("div", data, name, *buttons)


def preset(identity: str, values: Mapping[str, Value], letter: str, title: str, detail: str) -> str:
    """A button that sets several controls at once.

    Args:
        identity: its id as a scenario of the query string.
        values: what it sets, by control.
        letter, title, detail: what stands on it.
    """
    data = {"type": "button", "class": "preset", "data-preset": identity, "data-set": json.dumps(dict(values))}
    name = element("b", None, element("i", None, escape(letter)), " ", escape(title))
    return element("button", data, name, " ", element("span", None, escape(detail)))


def transport(figure: str, parameter: Parameter, value: Value, words: Words, most: int | None = None) -> str:
    """First, back, play, forward, last, the events before and after, and a slider over the steps.

    `most` is for a slider whose end moves with the run: the last step that any run may have.
    """
    name = parameter.name
    before = {"data-event-by": -1, "data-for": name, "aria-keyshortcuts": "Shift+N"}
    after = {"data-event-by": 1, "data-for": name, "aria-keyshortcuts": "N"}
    buttons = (
        _icon("event-back", words, before),
        _icon("first", words, {"data-step-to": "first", "data-for": name}),
        _icon("back", words, {"data-step-by": -1, "data-for": name}),
        _icon("play", words, {"data-play": name, "aria-pressed": "false"}, also="pause"),
        _icon("forward", words, {"data-step-by": 1, "data-for": name}),
        _icon("last", words, {"data-step-to": "last", "data-for": name}),
        _icon("event-on", words, after),
    )
    identity = f"{figure}-{name}"
    control = {"type": "range", "id": identity} | _limits(parameter, value) | {"data-max": most}
    group = {"class": "buttons", "role": "group", "aria-label": words("transport")}
    return element(
        "div",
        {"class": "control transport", "data-control": name},
        element("div", group, *buttons),
        element("label", {"for": identity}, escape(words(f"control.{name}"))),
        element("input", control),
        element("output", {"data-for": name, "for": identity, "aria-live": "off"}, escape(value)),
    )


def _icon(name: str, words: Words, data: Mapping[str, object], also: str = "") -> str:
    label = words(f"transport.{name}")
    icons = [_drawing(icon) for icon in (name, also) if icon]
    attributes = {"type": "button", "class": "icon", "aria-label": label, "title": label} | dict(data)
    return element("button", attributes, *icons)


def _drawing(icon: str) -> str:
    data = {"viewBox": "0 0 20 20", "width": 20, "height": 20, "aria-hidden": "true", "class": f"i-{icon}"}
    return element("svg", data, element("path", {"d": ICONS[icon]}))
