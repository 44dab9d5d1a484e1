"""Writes the table of figures and their controls into docs/embed.md: `.venv/bin/python scripts/embed_table.py`."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from build import FIGURE_CATALOGS, read_catalogs  # noqa: E402 the checkout is on the path only now
from sim.figures import Figure  # noqa: E402
from sim.figures.questions import QUESTIONS  # noqa: E402
from sim.figures.words import Words  # noqa: E402
from sim.page import DRAWN  # noqa: E402
from sim.parameters import Parameter, Value  # noqa: E402

DOCUMENT = ROOT / "docs" / "embed.md"
BEGIN, END = "<!-- figures: written by scripts/embed_table.py -->\n", "<!-- end of figures -->\n"


def table() -> str:
    """All figures, in Markdown: what each control accepts and starts with, presets, parts that can be hidden."""
    words = Words("en", read_catalogs(*FIGURE_CATALOGS)["en"])
    rows = ["| figure | controls (allowed; at first) | presets | parts for `hide` |", "|---|---|---|---|"]
    rows += [_row(figure, words) for figure in DRAWN.values()]
    return "\n".join(rows) + "\n"


def _row(figure: Figure, words: Words) -> str:
    form = figure.form(words)
    html = form + figure.render(figure.check({}), words)
    controls = "; ".join(_control(control, figure.defaults[control.name]) for control in figure.controls)
    asked = {"question"} if any(question.figure == figure.name for question in QUESTIONS) else set()
    parts = sorted(set(re.findall(r'data-part="([\w-]+)"', html)) - {"multiples"} | asked)
    presets = _names(re.findall(r'data-preset="([\w-]+)"', form))
    if figure.name == "sandbox":
        presets = "those of its gallery: the names in `site/presets/`"
    cells = (f"`{figure.name}`", controls, presets, _names(parts))
    return f"| {' | '.join(cells)} |"


def _control(parameter: Parameter, value: Value) -> str:
    """A control with what it accepts and what it starts with."""
    if parameter.kind == "bool":
        return f"`{parameter.name}` (`true`, `false`; {str(value).lower()})"
    if parameter.choices:
        return f"`{parameter.name}` ({_names(parameter.choices)}; {value})"
    if parameter.kind == "text":
        return f"`{parameter.name}` (text)"
    first = parameter.none_means if value is None else value
    return f"`{parameter.name}` ({parameter.minimum}–{parameter.maximum}; {first})"


def _names(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def main() -> None:
    """Replace the table in the document."""
    before, rest = DOCUMENT.read_text("utf-8").split(BEGIN)
    DOCUMENT.write_text(before + BEGIN + table() + END + rest.split(END)[1], "utf-8")


if __name__ == "__main__":
    main()
