"""The command line: `python -m sim`, or `batchloom` where it is installed."""

import io
import os
import sys
from collections.abc import Sequence

from ..errors import ConfigError
from .messages import tell

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130
READER_GONE = 141
"""What a shell reports of programs that an interrupt, or a closed pipe, has ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: arguments without the program's name; those of the process when left out.

    Returns:
        The exit status: 0, or 2 for input that cannot be used, with one line on standard error; 1 when the output
        cannot be written, 130 when interrupted, 141 when nobody reads the output any more.
    """
    if sys.stdout is None:
        tell("standard output is closed")
        return FAILED
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    try:
        return _status(argv)
    except BrokenPipeError:
        _forget_output()
        return READER_GONE
    except OSError as error:
        _forget_output()
        tell(f"cannot write: {error.strerror or error}")
        return FAILED
    except KeyboardInterrupt:
        _forget_output()
        return INTERRUPTED


def _status(argv: Sequence[str] | None) -> int:
    status = 0
    try:
        # Inside, because the fitted profiles are read when these are imported, and a bad one is bad input.
        from .commands import run  # noqa: PLC0415
        from .options import parse  # noqa: PLC0415

        run(parse(sys.argv[1:] if argv is None else argv))
    except ConfigError as error:
        # What was printed before the fault stands before its message.
        sys.stdout.flush()
        tell(str(error))
        return BAD_INPUT
    except SystemExit as stop:
        # --help and --version end like this.
        status = stop.code if isinstance(stop.code, int) else FAILED
    sys.stdout.flush()
    return status


def _forget_output() -> None:
    """Let the interpreter flush what is left into nothing when it ends, not into what cannot take it."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
