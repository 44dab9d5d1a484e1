"""The command that a server was started with, where it stands in the text of its log, as in a terminal."""

import re
from collections.abc import Sequence

from .arguments import Setting, parse_arguments
from .importer import Imported
from .pasted import COMMAND, CONTAINER, plain_text, script_of
from .server_line import MANY, SECOND, removed_environment, server_words
from .shell import Word

MOST_LINES = 5_000
"""Lines that may be part of a command, and are kept."""

_OF_SERVER = re.compile(r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b(?::|\s+\d\d-\d\d\s|\s+\[)|\busage: |: error: ")
_ASSIGNMENT = re.compile(r"(?:\S{0,200}[>$#%] ?)?(?:export )?[A-Za-z_]\w*=\S")
_GOES_ON = re.compile(r"(?:\\|(?<=\s)[`^])\s*$")
_FLAG = re.compile(r"^[>\s]*--\w")


class LogCommand:
    """The lines that may be part of a command, those together that belong together."""

    def __init__(self) -> None:
        self._blocks: list[tuple[int, list[str]]] = []
        self._lines = 0
        self._next = 0
        self._open = False

    def take(self, number: int, text: str) -> None:
        """Keep a line that may belong to a command."""
        behind = number == self._next
        if not (behind or "vllm" in text or "run" in text or _ASSIGNMENT.match(text)):
            return
        text = plain_text(text)
        goes_on = behind and (self._open or bool(_FLAG.search(text)))
        begins = COMMAND.search(text) or CONTAINER.search(text) or _ASSIGNMENT.match(text)
        if self._lines >= MOST_LINES or (not goes_on and (not begins or _OF_SERVER.search(text))):
            return
        self._lines += 1
        self._next, self._open = number + 1, bool(_GOES_ON.search(text))
        if goes_on:
            # Its indentation was taken off.
            self._blocks[-1][1].append(" " + text)
        else:
            self._blocks.append((number, [text]))

    def settings(self, imported: Imported) -> dict[str, Setting]:
        """The arguments that the first command gives, which is noted; none if there is no command with arguments.

        Args:
            imported: is told of flags that are unknown or removed, and of words that cannot be used.
        """
        known = ""
        words: Sequence[Word] = ()
        tries = 0
        for line, lines in self._blocks:
            script = script_of("\n".join(lines))
            if not (COMMAND.search(script) or CONTAINER.search(script)):
                known += script.replace("\n", " ") + ";"
            elif tries < MANY:
                tries += 1
                told = Imported(imported.format, {})
                found = server_words(known + script, told, line) or []
                # Sentences of people have the words vllm serve as well.
                if not any(word.text.startswith("-") or "/" in word.text for word in found):
                    continue
                if words:
                    imported.leave_out(line, SECOND)
                    continue
                words = found
                for item in told.left_out:
                    imported.leave_out(*item)
                imported.removed += removed_environment(known + script)
        if not words:
            return {}
        imported.note("command", line=words[0].line)
        return parse_arguments(words, imported)
