"""The words of pictures in English, from the catalogues of a checkout."""

import json
from pathlib import Path

from ..errors import ConfigError
from ..figures.words import Words

SITE = Path(__file__).resolve().parents[2] / "site"


def read_site(path: str, option: str) -> str:
    """The text of a file below `site/`.

    Raises:
        ConfigError: it is not there; the field is the `option` that needs it.
    """
    try:
        return (SITE / path).read_text("utf-8")
    except OSError:
        raise ConfigError(option, f"needs a checkout of Batchloom: site/{path} cannot be read") from None


def english_words(option: str) -> Words:
    """The words of sweeps.

    Raises:
        ConfigError: see `read_site`.
    """
    messages: dict[str, str] = {}
    for name in ("en.po", "sweep.en.po"):
        messages |= messages_of(read_site(f"locales/{name}", option))
    return Words("en", messages)


def messages_of(text: str) -> dict[str, str]:
    """The messages of a gettext catalogue by id: one line for each id and each message, as in `site/locales/`.

    >>> messages_of('msgid "run"' + chr(10) + 'msgstr "Run"')
    {'run': 'Run'}
    """
    messages, identity = {}, ""
    for line in text.splitlines():
        keyword, _, quoted = line.partition(" ")
        if keyword == "msgid":
            identity = json.loads(quoted)
        elif keyword == "msgstr":
            messages[identity] = json.loads(quoted)
    return messages
