"""Integers as people and vLLM's flags write them: `8k` is 8,000 and `8K` is 8,192."""

import re

MOST_DIGITS = 400
"""Digits of an integer that are read; no field allows so many, and Python refuses to convert thousands."""

_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])", re.ASCII)
_IN_THREES = re.compile(r"-?\d{1,3}(,\d{3})+")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def human_readable_int(text: str) -> int:
    """The integer that a text stands for.

    Args:
        text: digits, or a number with a suffix: small letters are powers of 1000 and allow a fraction, large ones
            powers of 1024 and do not.

    Raises:
        ValueError: none of these; its message says what is allowed.

    Source: `vllm/utils/argparse_utils.py::human_readable_int`.
    """
    text = text.strip()
    if len(text) > MOST_DIGITS:
        raise ValueError("too many digits")
    match = _SUFFIXED.fullmatch(text)
    if match is None:
        try:
            return int(text)
        except ValueError:
            raise ValueError("must be an integer, or one with a suffix such as 8k (8000) or 8K (8192)") from None
    number, suffix = match.groups()
    if suffix in _DECIMAL:
        # A product of floats, cut, as vLLM computes it: 1.001k is 1000.
        return int(float(number) * _DECIMAL[suffix])
    if "." in number:
        raise ValueError(f"a suffix for powers of 1024 allows no fraction; {number}{suffix.lower()} is one of 1000")
    return int(number) * _BINARY[suffix]


def human_readable_int_or_auto(text: str) -> int | None:
    """Likewise, or `None` for `auto` and -1. Source: `human_readable_int_or_auto` beside it."""
    return None if text.strip().lower() in {"-1", "auto"} else human_readable_int(text)


def printed_number(text: str) -> float:
    """A number as a log prints it: with a point, or the comma of another locale; commas between three digits are none.

    Args:
        text: digits, points and commas, the first of them a digit behind the sign.
    """
    if "," in text and "." not in text and not _IN_THREES.fullmatch(text):
        text = text.replace(",", ".")
    head, point, rest = text.replace(",", "")[:MOST_DIGITS].partition(".")
    return float(head + point + rest.partition(".")[0]) if point else int(head)
