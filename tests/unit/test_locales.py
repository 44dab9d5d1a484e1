"""The catalogues: complete in both languages, and with the same placeholders, marks, code and numbers."""

import re
from collections import Counter
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from build import BUILD_CATALOGS, FIGURE_CATALOGS
from tests.languages import numbers

LOCALES = Path(__file__).resolve().parents[2] / "site" / "locales"
PAIRS = (*FIGURE_CATALOGS, *BUILD_CATALOGS)
MAY_BE_EMPTY = {"zh": {"sentence.join"}, "en": set()}
"""Between two sentences Chinese has no space."""


def read(prefix: str, language: str) -> Catalog:
    with (LOCALES / f"{prefix}{language}.po").open("rb") as file:
        return read_po(file, abort_invalid=True)


def messages(prefix: str, language: str) -> dict[str, str]:
    return {str(message.id): str(message.string) for message in read(prefix, language) if message.id}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("prefix", PAIRS)
def test_every_message_is_written_and_final(prefix: str, language: str) -> None:
    catalog = read(prefix, language)
    assert catalog.locale_identifier == {"en": "en", "zh": "zh_CN"}[language]
    assert [message.id for message in catalog if message.id and message.fuzzy] == []
    assert list(catalog.obsolete) == []
    empty = {identity for identity, text in messages(prefix, language).items() if not text.strip()}
    assert empty - {"sentence.join"} == set()
    assert {identity for identity, text in messages(prefix, language).items() if not text} <= MAY_BE_EMPTY[language]
    ids = re.findall(r'^msgid "(.+)"', (LOCALES / f"{prefix}{language}.po").read_text("utf-8"), re.MULTILINE)
    assert [identity for identity, count in Counter(ids).items() if count > 1] == []


def parts(text: str, language: str) -> dict[str, object]:
    """All of a message that is the same in every language."""
    return {
        "placeholders": set(re.findall(r"\{(\w+)", text)),
        "marks": sorted(re.findall(r"<\w+>", text)),
        "closed": sorted(re.findall(r"<(\w+)>", text)) == sorted(re.findall(r"</(\w+)>", text)),
        "code": sorted(re.findall(r"<code>(.*?)</code>", text)),
        "numbers": numbers(text, language),
    }


@pytest.mark.parametrize("prefix", PAIRS)
def test_both_languages_say_the_same(prefix: str) -> None:
    english, chinese = messages(prefix, "en"), messages(prefix, "zh")
    assert list(english) == list(chinese)
    told = {
        identity: (parts(text, "en"), parts(chinese[identity], "zh"))
        for identity, text in english.items()
        if parts(text, "en") != parts(chinese[identity], "zh")
    }
    assert told == {}
    assert all(parts(text, "en")["closed"] for text in english.values())


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Between 11 and ten lie <b>twenty-four</b> steps, 8,192 tokens, vLLM 0.33.0, {n}", "en", {11, 10, 24, 8192}),
        ("十一和10之间差二十四步，8,192个，两三个，一百个里有九十九个", "zh", {11, 10, 24, 8192, 3, 100, 99}),
        ("170 ms instead of 5.5", "en", {170, 5.5}),
    ],
)
def test_numbers_are_found(text: str, language: str, expected: set[float]) -> None:
    assert numbers(text, language) == expected
