"""The words of figures in one language, by stable id."""

import re
from collections.abc import Mapping

from .html import escape

_MARK = re.compile(r"&lt;(/?)([a-z]+)&gt;")
MARKS = ("decode", "prefill", "done", "todo", "idle", "wait")
"""Names that a message may put around words, `<decode>10 decodes</decode>`: these then carry the pictures' mark."""
PLAIN = ("b", "code")


class Count(int):
    """A number that can choose its noun: `{n:token|tokens}` gives `1 token`, `2 tokens`."""

    def __format__(self, spec: str) -> str:
        """The number, and after it the first word of `spec` for one, the second for any other."""
        if "|" not in spec:
            return int.__format__(self, spec)
        one, many = spec.split("|")
        return f"{int(self)} {one if self == 1 else many}"


class Words:
    """A catalogue that is called with an id and the values of its placeholders.

    Args:
        language: the code of the language, such as `en` or `zh`.
        messages: text by id, with placeholders as `{name}`.

    >>> Words("en", {"sum": "{n} tokens"})("sum", n=3)
    '3 tokens'
    """

    def __init__(self, language: str, messages: Mapping[str, str]) -> None:
        self.language = language
        self._messages = messages

    def __call__(self, message_id: str, **values: object) -> str:
        """The text of `message_id` as it is, not escaped.

        Raises:
            KeyError: no such id, or no value for a placeholder.
        """
        counts = {name: Count(value) if type(value) is int else value for name, value in values.items()}
        return self._messages[message_id].format_map(counts)

    def html(self, message_id: str, **values: object) -> str:
        """The text as HTML: escaped, and its `<decode>`, `<b>`, `<code>` turned into elements."""
        return _MARK.sub(_element, escape(self(message_id, **values)))

    def plain(self, message_id: str, **values: object) -> str:
        """The text without its marks, for attributes."""
        return re.sub(r"</?[a-z]+>", "", self(message_id, **values))


def _element(match: re.Match[str]) -> str:
    closing, name = match.groups()
    if name in PLAIN:
        return f"<{closing}{name}>"
    if name not in MARKS:
        return match[0]
    return "</span>" if closing else f'<span class="m m-{name}">'
