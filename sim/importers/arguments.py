"""Arguments of `vllm serve` from their words, with the rules of vLLM's parser.

Source: `vllm/utils/argparse_utils.py::FlexibleArgumentParser.parse_args`, and `argparse` for abbreviations. What that
parser refuses is reported here word by word, and the rest is used.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..parameters import shown
from .flags import INSTEAD, OPTIONS, REMOVED, Option
from .human import human_readable_int
from .importer import Imported
from .shell import Word

_NEGATIVE = re.compile(r"-\d+|-\d*\.\d+", re.ASCII)
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
MANY = 8
"""So many flags that an abbreviation could mean are named."""


class Setting(NamedTuple):
    """The value of an argument, the flag that gave it, and the line where that stands."""

    value: Any
    flag: str
    line: int


def parse_arguments(words: Sequence[Word], imported: Imported) -> dict[str, Setting]:
    """The arguments by name; of those given twice, the last. The model is `model`.

    Args:
        words: what stands behind `vllm serve`.
        imported: is told of flags that are unknown or removed, and of words that cannot be used.
    """
    reader = _Arguments(list(words), imported)
    reader.read()
    return reader.found | reader.dotted


class _Arguments:
    def __init__(self, words: list[Word], imported: Imported) -> None:
        self._words = words
        self._next = 0
        self._imported = imported
        self.found: dict[str, Setting] = {}
        self.dotted: dict[str, Setting] = {}

    def read(self) -> None:
        while self._next < len(self._words):
            word = self._words[self._next]
            self._next += 1
            if _is_value(word.text):
                self._without_flag(word)
                continue
            flag, equals, value = word.text.partition("=")
            attached = value if equals else None
            if flag.startswith("-O") and flag != "-O":
                # -O3 is --optimization-level 3, -O.mode=3 an option of the compiler.
                if not flag.startswith("-O."):
                    self.found["optimization_level"] = Setting(flag[2:] or value, "-O", word.line)
                continue
            flag, dot, keys = flag.partition(".")
            flag = "--" + flag[2:].replace("_", "-") if flag.startswith("--") else flag
            flag = "--optimization-level" if flag == "-O" else flag
            option = self._option(flag, word.line)
            if option is None:
                if REMOVED.get(flag, True) and attached is None:
                    self._values(most=1)
            elif dot:
                self._dotted(option, Word(flag, word.line), keys, attached)
            else:
                self._plain(option, Word(flag, word.line), attached)

    def _without_flag(self, word: Word) -> None:
        if "model" in self.found:
            self._imported.leave_out(word.line, f"{shown(word.text)} stands behind no flag that takes it")
        else:
            self.found["model"] = Setting(word.text, "model", word.line)

    def _option(self, flag: str, line: int) -> Option | None:
        """What a flag or an abbreviation of one stands for; `None` once it is told that it is none."""
        if flag in OPTIONS:
            return OPTIONS[flag]
        could_be = [name for name in OPTIONS if name.startswith(flag)] if flag.startswith("--") else []
        if len(could_be) == 1:
            return OPTIONS[could_be[0]]
        imported = self._imported
        positive = "--" + flag.removeprefix("--no-")
        name = flag if flag in REMOVED else positive if positive in REMOVED else ""
        gone = [known for known in REMOVED if known.startswith(flag)]
        name = name or (gone[0] if len(gone) == 1 and not could_be and len(flag) > 4 else "")
        if name:
            _once(imported.removed, name)
            if name in INSTEAD:
                imported.note("instead", flag=name, other=INSTEAD[name])
            return None
        _once(imported.unknown, flag)
        if could_be:
            more = " ..." if len(could_be) > MANY else ""
            imported.leave_out(line, f"{flag} is ambiguous, could be {' or '.join(could_be[:MANY])}{more}")
        return None

    def _values(self, most: int) -> list[str]:
        """The words that follow and are no flags, `most` of them."""
        begin = self._next
        while self._next < min(len(self._words), begin + most) and _is_value(self._words[self._next].text):
            self._next += 1
        return [word.text for word in self._words[begin : self._next]]

    def _plain(self, option: Option, flag: Word, attached: str | None) -> None:
        value: Any
        if option.kind in {"switch", "on"}:
            value = option.switch
            text = attached
            if text is None and self._next < len(self._words):
                following = self._words[self._next].text
                if following.lower() in _BOOLEANS and not following.isdigit():
                    text = following
                    self._next += 1
            if text is not None:
                given = _BOOLEANS.get(text.lower())
                if given is None:
                    self._imported.leave_out(flag.line, f"{flag.text} takes no value, {shown(text)} is left out")
                else:
                    value = value == given
                    self._imported.note("no_value", flag=flag.text, value=text)
        elif option.kind == "list":
            value = ([] if attached is None else [attached]) + self._values(most=len(self._words))
        else:
            values = [attached] if attached is not None else self._values(most=1)
            if not values and option.kind == "value":
                self._imported.leave_out(flag.line, f"{flag.text} needs a value, none follows")
                return
            value = values[0] if values else True
        self.found[option.dest] = Setting(value, flag.text, flag.line)

    def _dotted(self, option: Option, flag: Word, keys: str, attached: str | None) -> None:
        """`--flag.key value`: one key of a value in JSON; all such keys together replace a value given whole."""
        values = [attached] if attached is not None else self._values(most=1)
        if not values:
            self._imported.leave_out(flag.line, f"{flag.text}.{keys} needs a value, none follows")
            return
        value: Any = values[0].split(",") if keys.endswith("+") else _json_value(values[0])
        whole = self.dotted.get(option.dest)
        target: dict[str, Any] = whole.value if whole else {}
        self.dotted[option.dest] = Setting(target, flag.text, flag.line)
        *path, last = keys.removesuffix("+").split(".")
        for key in path:
            inner = target.setdefault(key, {})
            if not isinstance(inner, dict):
                inner = target[key] = {}
            target = inner
        before = target.get(last)
        target[last] = before + value if isinstance(before, list) and isinstance(value, list) else value


def _is_value(text: str) -> bool:
    return not text.startswith("-") or text == "-" or " " in text.split("=", 1)[0] or bool(_NEGATIVE.fullmatch(text))


def _json_value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return human_readable_int(text)
    except ValueError:
        return text


def _once(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)
