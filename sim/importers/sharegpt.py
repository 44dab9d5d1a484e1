"""ShareGPT conversations, and lists of lengths: requests without arrivals.

There is no tokenizer here. Lengths that a file tells are taken; those of texts are estimated as the note `estimated`
says.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from ..errors import ConfigError
from ..parameters import shown
from .importer import Imported, Importer
from .json_items import Item, items
from .mooncake import detect as is_mooncake
from .rows import CONFIG, cells, count_field, count_value, delimiter_of, header_of

PROMPT = (
    *("prompt_tokens", "prompt_len", "prompt_length", "num_prompt_tokens", "input_tokens", "input_len", "input_length"),
    *("input_toks", "context_tokens", "prompt_size", "num_input_tokens"),
)
OUTPUT = (
    *("output_tokens", "output_len", "output_length", "num_output_tokens", "completion_tokens", "generated_tokens"),
    *("output_toks", "token_size", "max_tokens", "expected_output_len"),
)
TURNS = ("conversations", "conversation", "messages")

_HEAD = re.compile(r"\[?\s*(?:\{|\[\s*\d[\d.eE+-]*\s*,\s*\d[\d.eE+-]*\s*\])")
_KEY_IN_HEAD = re.compile(rf'"(?:{"|".join((*TURNS, *PROMPT))})"\s*:')


def detect(head: str) -> bool:
    """Whether this is a list of conversations or of lengths."""
    text = head.lstrip()
    if is_mooncake(head):
        return False
    if _HEAD.match(text):
        return (
            not text.startswith("{") or '"requests"' not in text
            if _KEY_IN_HEAD.search(text)
            else text[:2].strip() == "[["
        )
    first = header_of(text)
    return _column(first, PROMPT) is not None and _column(first, OUTPUT) is not None


def read(lines: Iterable[str], rows: int | None = None) -> Imported:
    """Requests that all arrive at 0, in the order of the file.

    Args:
        lines: the file: a list or lines of JSON, or CSV with a column for each length.
        rows: how many conversations to read; `None` for all.

    Raises:
        ConfigError: none that can be used.
    """
    imported = Imported("sharegpt", dict(CONFIG))
    rest = iter(lines)
    before = next((line for line in rest if line.strip()), "")
    header = header_of(before)
    columns = _column(header, PROMPT), _column(header, OUTPUT)
    estimated = False
    if before.lstrip()[:1] not in {"[", "{"} and columns[0] and columns[1]:
        _read_table(imported, rest, rows, before, (columns[0], columns[1]))
    else:
        for item in items(chain([before], rest)):
            if imported.rows == rows:
                break
            imported.rows += 1
            try:
                prompt_tokens, output_tokens, guessed = _lengths(item)
                _add(imported, prompt_tokens, output_tokens)
                estimated = estimated or guessed
            except ConfigError as error:
                imported.leave_out(item.line, str(error))
    if not imported.requests:
        why = f"; line {imported.left_out[0].line}: {imported.left_out[0].why}" if imported.left_out else ""
        raise ConfigError("", f"no conversation can be used, {imported.rows} were read{why}")
    if estimated:
        imported.note("estimated")
    imported.note("no_arrivals")
    return imported


def _column(header: Iterable[str], names: tuple[str, ...]) -> str | None:
    return next((name for name in header if name.lower() in names), None)


def _read_table(
    imported: Imported, lines: Iterable[str], rows: int | None, first: str, columns: tuple[str, str]
) -> None:
    header, delimiter = header_of(first), delimiter_of(first)
    prompt, output = columns
    imported.unknown = [name for name in header if name and name not in {prompt, output}]
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        if imported.rows == rows:
            break
        imported.rows += 1
        found = cells(line, delimiter) or []
        if len(found) != len(header):
            imported.leave_out(number, f"{len(found)} columns in {shown(line.strip())}, must be {len(header)}")
            continue
        row = dict(zip(header, found, strict=True))
        try:
            _add(imported, count_field(row, prompt, "prompt_tokens"), count_field(row, output, "output_tokens"))
        except ConfigError as error:
            imported.leave_out(number, str(error))


def _add(imported: Imported, prompt_tokens: int, output_tokens: int) -> None:
    request = {"id": f"r{len(imported.requests)}", "arrival_us": 0}
    imported.requests.append(request | {"prompt_tokens": prompt_tokens, "output_tokens": output_tokens})


def _lengths(item: Item) -> tuple[int, int, bool]:
    """Tokens of the prompt and of the output, and whether they are estimated."""
    if item.why:
        raise ConfigError("", item.why)
    value = item.value
    if isinstance(value, list) and len(value) == 2:
        value = {PROMPT[0]: value[0], OUTPUT[0]: value[1]}
    if not isinstance(value, dict):
        raise ConfigError("", f"{shown(value)} is not allowed, must be an object with {TURNS[0]} or with lengths")
    prompt, output = _column(value, PROMPT), _column(value, OUTPUT)
    if prompt and output:
        prompt_tokens = count_value(value[prompt], prompt, "prompt_tokens")
        return prompt_tokens, count_value(value[output], output, "output_tokens"), False
    name = _column(value, TURNS)
    if name is None:
        raise ConfigError("", f"{shown(value)} has neither {TURNS[0]} nor {PROMPT[0]} and {OUTPUT[0]}")
    turns = value[name]
    if not isinstance(turns, list) or any(not isinstance(turn, dict) for turn in turns):
        raise ConfigError(name, f"{shown(turns)} is not allowed, must be a list of turns")
    texts = [_text_of(turn, f"{name}[{index}]") for index, turn in enumerate(turns[:3])]
    if turns and str(turns[0].get("from", turns[0].get("role"))).lower() == "system" and len(texts) > 1:
        texts[:2] = [texts[0] + texts[1]]
    if len(texts) < 2:
        raise ConfigError(name, f"{len(turns)} turns, must be a prompt and an answer at least")
    for text, what in zip(texts[:2], ("the prompt", "the answer"), strict=True):
        if not text:
            raise ConfigError(name, f"{what} is empty")
    return estimate(texts[0]), estimate(texts[1]), True


def estimate(text: str) -> int:
    """About how many tokens a text has, as the note `estimated` says."""
    num_ascii = len(text.encode("ascii", "ignore"))
    return -(-num_ascii // 4) + len(text) - num_ascii


def _text_of(turn: Mapping[str, Any], path: str) -> str:
    value = turn.get("value", turn.get("content", turn.get("text")))
    if isinstance(value, list):
        # A message in parts; images have no text.
        value = "".join(str(part.get("text", "")) for part in value if isinstance(part, dict))
    if not isinstance(value, str):
        raise ConfigError(path, f"{shown(turn)} is not allowed, must have a text under value or content")
    return value.strip()


SHAREGPT = Importer("sharegpt", "ShareGPT conversations, or lengths of prompts and outputs (JSON, CSV)", detect, read)
