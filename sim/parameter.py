"""One row of the table of parameters: what it is called, what it accepts, what it means."""

import json
from dataclasses import dataclass
from typing import Literal

from .errors import ConfigError

Kind = Literal["int", "bool", "number", "choice", "text"]
Value = int | bool | float | str | None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One row of the table.

    Args:
        name: the key in a scenario, a form, a query string; vLLM's own name where vLLM has one.
        kind: `int`, `bool`, `number` (a fraction), `choice`, or `text`.
        default: the value when it is left out; `None` means that `none_means` applies.
        minimum, maximum: smallest and largest value allowed, for `int` and `number`; for `text` the most characters.
        choices: what is allowed, for `choice`.
        unit: what an integer counts: `tokens`, `requests`, `blocks`, `steps`, `us`, or empty.
        flag: the flag of `vllm serve`, empty when there is none.
        none_means: the parameter whose value stands in for `None`; `"0"` for zero; empty when `None` is not allowed.
        help_en, help_zh: one sentence.
        below_maximum: the maximum itself is not allowed (a half-open range).
    """

    name: str
    kind: Kind
    default: Value
    help_en: str
    help_zh: str
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    flag: str = ""
    none_means: str = ""
    below_maximum: bool = False

    def allowed(self) -> str:
        """What the parameter accepts, in words for an error message."""
        return f"{self._kind_in_words()}, or null" if self.none_means else self._kind_in_words()

    def _kind_in_words(self) -> str:
        match self.kind:
            case "bool":
                return "true or false"
            case "choice":
                return " or ".join(repr(choice) for choice in self.choices)
            case "number":
                return f"a number from {self.minimum} to {'below ' if self.below_maximum else ''}{self.maximum}"
            case "text":
                return f"text of at most {self.maximum} characters"
            case "int":
                return f"an integer from {self.minimum} to {self.maximum}"

    def check(self, value: object, field: str) -> Value:
        """Return `value` if the parameter accepts it.

        Args:
            value: anything that JSON can hold.
            field: the path to name in the message.

        Raises:
            ConfigError: wrong type or out of range.
        """
        if self._accepts(value):
            return value  # type: ignore[return-value]
        raise ConfigError(field, f"{shown(value)} is not allowed, must be {self.allowed()}")

    def _accepts(self, value: object) -> bool:
        if value is None:
            return bool(self.none_means)
        match self.kind:
            case "bool":
                return isinstance(value, bool)
            case "choice":
                return isinstance(value, str) and value in self.choices
            case "text":
                return isinstance(value, str) and self._in_range(len(value))
            case "int":
                return type(value) is int and self._in_range(value)
            case "number":
                return type(value) in (int, float) and self._in_range(value)  # type: ignore[arg-type]

    def _in_range(self, value: float) -> bool:
        if self.minimum is not None and not value >= self.minimum:
            return False
        if self.maximum is None:
            return True
        return value < self.maximum if self.below_maximum else value <= self.maximum


def value_of(text: str) -> object:
    """What somebody typed as a value: JSON, or a bare word, which stands for itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def shown(value: object) -> str:
    """A value as it would stand in JSON, cut to a length that fits on a line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
