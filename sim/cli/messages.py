"""Messages on standard error."""

import sys


def tell(message: str) -> None:
    """One line on standard error, whatever is in `message`."""
    if sys.stderr is not None:
        print("batchloom:", printable(message), file=sys.stderr)


def printable(text: str) -> str:
    """`text` on one line, without characters that would steer a terminal."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
