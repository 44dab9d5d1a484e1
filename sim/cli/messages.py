"""Messages on standard error."""

import sys


def tell(message: str) -> None:
    """One line on standard error, whatever is in `message`."""
    if sys.stderr is not None:
        print("batchloom:", printable(message), file=sys.stderr)


def printable(text: str) -> str:
    """`text` on one line, without characters that would steer a terminal."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def encodable(text: str) -> str:
    """`text` as UTF-8 can hold it: half of a surrogate pair, which JSON may bring, as its escape."""
    return text.encode("utf-8", "backslashreplace").decode()
