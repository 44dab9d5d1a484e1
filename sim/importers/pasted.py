"""Texts as people paste them: from Markdown, behind prompts, with what web pages make of quotes, dashes and spaces."""

import re

COMMAND = re.compile(
    r"\bvllm(?:\.exe)?\s{1,9}serve\b|\bvllm\.entrypoints\."
    r"|(?<!vllm)vllm[\w.-]{0,99}(?::[\w.-]{1,99})?[\s\\]{1,99}(?:serve|--)",
    re.ASCII,
)
"""What starts a server, somewhere in a line."""

CONTAINER = re.compile(r"^[ \t-]*image:|\b(?:docker|podman|nerdctl)\b[^\n]{0,99}?\brun\b", re.MULTILINE)

_LOOKALIKE = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "‑": "-", "‐": "-", "－": "-"}
    | dict.fromkeys("\u00a0\u2002\u2003\u2009\u202f\u3000", " ")
    | dict.fromkeys("\u200b\u200e\u2060\ufeff")
)
_DASHES = re.compile(r"(?:(?<=[\s\"'`(\[])|^)(?:[–—−][-–—−]?|-[–—−])(?=[a-zA-Z])", re.MULTILINE)
"""What word processors make of two dashes."""

_QUOTED = re.compile(r"^(?:> ?)+", re.MULTILINE)
"""What Markdown has before what somebody else wrote; a shell asks so for the next line."""

_CODE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<block>.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
    rf"|(?<!`)(?P<tick>`{{1,3}})(?!`)(?=[ \t]*--[a-z]|[^`\n]*?(?:{COMMAND.pattern}))(?P<span>[^`]+)(?P=tick)(?!`)",
    re.MULTILINE | re.DOTALL,
)
_PROMPT = re.compile(
    r"^(?:\([\w.-]+\) ?)?(?:\[?[\w.-]+@[\w.-]+[: ~][^\n$#%>]{0,200}[$#%>]|(?:ba|z)?sh-[\d.]+[$#]|[$%+]|PS [^\n>]*>) ?",
    re.MULTILINE,
)
_ROOT = re.compile(rf"^[ \t]*#+[ \t]+(?=[^\n]{0, 199}?(?:{COMMAND.pattern}|{CONTAINER.pattern}))", re.MULTILINE)


def plain_text(text: str) -> str:
    """A text with the quotes, dashes and spaces that a keyboard has; its lines keep their numbers."""
    return _DASHES.sub("--", text.replace("\r\n", "\n").translate(_LOOKALIKE))


def script_of(text: str) -> str:
    """The code of a text: what stands in Markdown's fences and backticks, if there is any; lines keep their numbers."""
    text = _QUOTED.sub("", plain_text(text))
    pieces: list[str] = []
    end = 0
    for match in _CODE.finditer(text):
        part = "span" if match["block"] is None else "block"
        pieces += ["\n" * text.count("\n", end, match.start(part)), match[part], ";" if part == "span" else ""]
        end = match.end(part)
    code = "".join(pieces)
    return _PROMPT.sub("", code if code.strip() and (COMMAND.search(code) or not COMMAND.search(text)) else text)


def behind_root(text: str) -> str:
    """A script in which `#` before a command is the prompt of root and no comment."""
    return _ROOT.sub("", text)
