"""What a figure is: a name, controls, a form made once, and a picture drawn from their values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import ConfigError
from ..parameters import Parameter, Value
from .words import Words


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the page.

    Args:
        name: as in `<batch-loom figure="...">`.
        controls: the parameters that its form sets.
        defaults: the value of each control that the page starts with.
        form: HTML of the controls; made once, never replaced.
        parts: HTML of the picture for checked values, each part one element; a pure function. Parts that are as before
            stay in the page.
    """

    name: str
    controls: tuple[Parameter, ...]
    defaults: Mapping[str, Value]
    form: Callable[[Words], str]
    parts: Callable[[Mapping[str, Value], Words], Sequence[str]]

    def render(self, values: Mapping[str, Value], words: Words) -> str:
        """The whole picture as one text."""
        return "".join(self.parts(values, words))

    def check(self, values: Mapping[str, object]) -> dict[str, Value]:
        """All controls' values: those of `values`, and the default where one is left out.

        Raises:
            ConfigError: an unknown name or a value that is not allowed.
        """
        rows = {parameter.name: parameter for parameter in self.controls}
        for name in values:
            if name not in rows:
                raise ConfigError(name, f"unknown control, must be one of {', '.join(rows)}")
        return {name: row.check(values.get(name, self.defaults[name]), name) for name, row in rows.items()}
