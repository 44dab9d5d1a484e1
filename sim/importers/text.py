"""Bytes of a file as lines of text: which encoding it has, and what is no text at all."""

import codecs
from collections.abc import Iterable, Iterator

from ..errors import ConfigError

HEAD_BYTES = 65_536
"""So much of a file is looked at to tell its encoding and its format."""

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

_BINARY = (
    (b"\x1f\x8b", "a gzip file, unpack it first"),
    (b"PK\x03\x04", "a zip file, unpack it first"),
    (b"(\xb5/\xfd", "a zstd file, unpack it first"),
    (b"BZh", "a bzip2 file, unpack it first"),
    (b"\xfd7zXZ", "an xz file, unpack it first"),
    (b"PAR1", "a Parquet file, save it as CSV or JSON Lines first"),
    (b"%PDF", "a PDF file"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"SQLite format 3", "a database"),
)


def encoding_of(head: bytes) -> tuple[str, int]:
    """The encoding of a file and how many bytes its mark takes.

    Args:
        head: its first bytes, up to `HEAD_BYTES`.

    Raises:
        ConfigError: it is not text.
    """
    for begin, what in _BINARY:
        if head.startswith(begin):
            raise ConfigError("1", f"is not text but {what}")
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, len(mark)
    if b"\0" not in head:
        return "utf-8", 0
    even, odd = head[::2].count(0), head[1::2].count(0)
    most = len(head) // 4
    if odd > most and not even:
        return "utf-16-le", 0
    if even > most and not odd:
        return "utf-16-be", 0
    raise ConfigError("1", "is not text: it has bytes of value 0")


def lines_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """The lines of a file, with their ends; what its encoding does not have is replaced, and spoils its line alone.

    Args:
        pieces: its bytes, in pieces of any size; the first of them has the first `HEAD_BYTES`, or all there are.

    Raises:
        ConfigError: it is not text.
    """
    rest = iter(pieces)
    first = next(rest, b"")
    encoding, mark = encoding_of(first[:HEAD_BYTES])
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    text = decoder.decode(first[mark:])
    # A file of an old editor has returns alone; in others a lone return belongs to a bar of progress.
    old = "\r" in text and "\n" not in text
    while True:
        piece = next(rest, None)
        if old:
            text = text.replace("\r", "\n")
        lines = text.split("\n")
        yield from (line + "\n" for line in lines[:-1])
        text = lines[-1]
        if piece is None:
            break
        text += decoder.decode(piece)
    text += decoder.decode(b"", final=True)
    if text:
        yield text
