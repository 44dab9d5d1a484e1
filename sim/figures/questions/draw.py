"""A question as HTML: what is asked, what can be answered, what each answer is told, and guess and truth on one axis.

All of it is in the page before any script runs; a script only shows the part that belongs to a guess.
"""

import json
from collections.abc import Mapping

from ..html import element, escape
from ..svg import Grid, cells, lane
from ..words import Words
from .question import Option, Question

PITCH, TALL, GAP = 16, 16, 8
"""Size of a cell of a guess, and the room between the two rows."""
TICK, EVERY = 5, 5
"""Length of the axis' ticks, and how many cells lie between them."""
BAR, THICK = 100, 8
"""Length of the longest bar under an option; how thick bars are, and how large cells."""


def draw_question(question: Question, words: Words) -> str:
    """The question with its answers, and a fold in which the right one stands."""
    name = question.name
    identity = f"question-{name}"
    legend = element("legend", None, words.html(f"question.{name}.ask", **question.values))
    answers = _options(question, words) if question.options else _number(question, words)
    data = {
        "class": "question",
        "id": identity,
        "data-part": "question",
        "data-question": name,
        "data-right": question.right,
        "data-shows": json.dumps(dict(question.shows)),
    }
    head = element("p", {"class": "guess-first"}, escape(words("question.title")))
    group = element("fieldset", None, legend, answers)
    return element("div", data, head, group, *_told(question, words))


# ---------------------------------------------------------------- what can be answered


def _options(question: Question, words: Words) -> str:
    most = max(option.amount or 0 for option in question.options)
    buttons = [_option(question, option, most, words) for option in question.options]
    return element("div", {"class": "answers"}, *buttons)


def _option(question: Question, option: Option, most: int, words: Words) -> str:
    """A button; what stands below its label is seen with the answer only."""
    label = escape(option.label) or words.html(f"question.{question.name}.option.{option.name}")
    parts = [element("b", None, label)]
    if option.amount is not None:
        fact = words.html(f"question.{question.name}.fact", n=option.amount)
        parts.append(element("span", {"class": "fact"}, _amount(option.amount, most), fact))
    is_right = option.name == question.right
    mark = element("span", {"class": "mark right"}, escape(words("question.mark.right"))) if is_right else ""
    mine = element("span", {"class": "mark mine"}, escape(words("question.mark.guess")))
    data = {"type": "button", "class": "answer", "data-answer": option.name, "aria-pressed": "false"}
    return element("button", data, *parts, element("span", {"class": "marks"}, mine, mark))


def _amount(amount: int, most: int) -> str:
    """Tokens and blocks as cells that can be counted, larger amounts as a bar."""
    if most * THICK <= BAR:
        drawn = cells("share", Grid(THICK, most), range(amount))
    else:
        drawn = element("rect", {"class": "share", "width": BAR * amount // most, "height": THICK, "rx": 2})
    return lane(drawn, width=BAR, height=THICK, kind="bar-of")


def _number(question: Question, words: Words) -> str:
    limits = {"lowest": question.lowest, "highest": question.highest}
    field = {"type": "number", "inputmode": "numeric", "step": 1, "autocomplete": "off", "data-guess": True}
    field |= {"min": question.lowest, "max": question.highest, "aria-label": words("question.number", **limits)}
    hint = element("span", {"class": "hint"}, escape(words("question.limits", **limits)))
    check = element("button", {"type": "button", "data-check": True}, escape(words("question.check")))
    return element("div", {"class": "number-guess"}, element("input", field), check, hint)


# ---------------------------------------------------------------- what is told


def _told(question: Question, words: Words) -> list[str]:
    because = words.html(f"question.{question.name}.because", **{"right": question.right, **question.values})
    told = {str(answer): words.html(id_, **question.values) for answer, id_ in question.verdicts().items()}
    told[str(question.right)] = words.html("question.right")
    if not question.options:
        told |= {case: words.html(f"question.{case}", **_limits(question)) for case in ("more", "less", "outside")}
    verdicts = [
        element("p", {"class": "verdict", "data-verdict": answer, "hidden": True}, text)
        for answer, text in told.items()
    ]
    axis = "" if question.options else _axis(question, words)
    names = (("closed", "question.show"), ("opened", "question.shown"))
    summary = element("summary", None, *(element("span", {"class": kind}, escape(words(id_))) for kind, id_ in names))
    fold = {"id": f"question-{question.name}-answer"}
    return [*verdicts, element("details", fold, summary, axis, element("p", {"class": "because"}, because))]


def _limits(question: Question) -> Mapping[str, object]:
    return {"lowest": question.lowest, "highest": question.highest}


def _axis(question: Question, words: Words) -> str:
    """Guess and truth as rows of cells on one axis. A script cuts the guess to its length; at first it is empty."""
    assert isinstance(question.right, int)
    width, tall = question.highest * PITCH, 2 * TALL + GAP
    guess = cells("guess", Grid(PITCH, question.highest), range(question.highest))
    cut = element("svg", {"class": "cut", "width": 0, "height": TALL, "data-pitch": PITCH}, guess)
    truth = cells("truth", Grid(PITCH, question.highest, 0, TALL + GAP), range(question.right))
    ticks = "".join(f"M{place * PITCH} {tall + 3}v{TICK}" for place in range(0, question.highest + 1, EVERY))
    line = element("path", {"class": "base", "d": f"M0 {tall + 3}h{width}{ticks}"})
    drawing = lane(cut, truth, line, width=width, height=tall + 3 + TICK, kind="guessed")
    told = element("b", {"data-told": True})
    mine = element("p", {"class": "of-guess"}, escape(words("question.mark.guess")), " ", told)
    real = element("p", None, escape(words("question.mark.right")), " ", element("b", None, escape(question.right)))
    return element("div", {"class": "axis-of"}, element("div", {"class": "axis-names"}, mine, real), drawing)
