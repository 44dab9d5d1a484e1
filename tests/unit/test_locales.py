"""The catalogues: complete in both languages, and with the same placeholders, marks, code and numbers."""

import re
from collections import Counter
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from build import BUILD_CATALOGS, FIGURE_CATALOGS
from sim.parameters import CONFIG, ONESTEP, REQUEST
from sim.points import RATE
from tests.languages import numbers, typed_spaces

LOCALES = Path(__file__).resolve().parents[2] / "site" / "locales"
CONTENT = LOCALES.parent / "content"
CHINESE = sorted([*(CONTENT / "zh").iterdir(), CONTENT / "glossary" / "zh.md"])
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


@pytest.mark.parametrize("prefix", PAIRS)
def test_chinese_has_no_typed_spaces(prefix: str) -> None:
    assert {one: found for one, text in messages(prefix, "zh").items() if (found := typed_spaces(text))} == {}


@pytest.mark.parametrize("path", CHINESE, ids=lambda path: path.name)
def test_chinese_chapters_and_glossary_have_no_typed_spaces(path: Path) -> None:
    assert typed_spaces(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("第{n}步，vLLM 0.33.0，<b>B</b> = 16", []),
        ("第 {n}步", ["第 {"]),
        ("{n} 步", ["} 步"]),
        ("含<b>3</b> 个token", ["3 个"]),
        ("见 <code>x</code>", ["见 x"]),
    ],
)
def test_typed_spaces_are_found(text: str, expected: list[str]) -> None:
    assert typed_spaces(text) == expected


UNIT = r"(?:ms|s|µs|MB|GiB)\b"


@pytest.mark.parametrize("prefix", PAIRS)
@pytest.mark.parametrize(("language", "wrong"), [("en", rf"[\d}}]{UNIT}|[\d}}] %"), ("zh", rf"[\d}}] (?:{UNIT}|%)")])
def test_units_stand_after_numbers_as_the_language_has_them(prefix: str, language: str, wrong: str) -> None:
    assert [text for text in messages(prefix, language).values() if re.search(wrong, text)] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_numbers_of_the_explainer_are_not_grouped(language: str) -> None:
    """As in the figures, whose budgets read 8192."""
    texts = [*messages("", language).values(), *messages("question.", language).values()]
    texts += [path.read_text("utf-8") for path in (CONTENT / language).iterdir()]
    assert [found for text in texts for found in re.findall(r"\d,\d{3}(?!\d)", text)] == []


def test_one_chinese_term_for_one_thing() -> None:
    texts = [text for prefix in PAIRS for text in messages(prefix, "zh").values()]
    texts += [path.read_text("utf-8") for path in CHINESE]
    others = "先来先得|先到先服务|饥饿|飞行|作废|轨迹|草稿被拒(?!绝)|新人"
    assert [found for text in texts for found in re.findall(others, text)] == []


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


def test_chinese_help_of_parameters_has_no_typed_spaces() -> None:
    assert {
        row.name: found for row in (*CONFIG, *REQUEST, *ONESTEP, RATE) if (found := typed_spaces(row.help_zh))
    } == {}
