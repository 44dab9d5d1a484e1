"""The chapters in both languages: the same sections, figures, links, code and numbers, each in its typography."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

CONTENT = Path(__file__).resolve().parents[2] / "site" / "content"
NAMES = sorted(path.name for path in (CONTENT / "en").glob("*.md"))
HAN = "[\u3400-\u9fff]"

ONLY_IN_ONE = {
    "30-no-phases.md": {"1", "3", "4", "5", "9"},
    "40-real-vllm.md": {"3", "4"},
    "64-blocks.md": {"0", "4"},
}
"""Code and numbers that one language may have alone, by file: English writes small numbers out."""


def read(language: str, name: str) -> str:
    return (CONTENT / language / name).read_text("utf-8")


def prose(text: str) -> str:
    """The words alone: no code, templates, addresses, elements."""
    text = re.sub(r"`[^`]+`", "`", text)
    text = re.sub(r"\{[{%].*?[%}]\}", "", text, flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"<[^>]+>", "", text).replace("&nbsp;", "\u00a0")


def section_ids(text: str) -> list[str]:
    return re.findall(r'<section id="([^"]+)"', text)


def figures(text: str) -> list[str]:
    return re.findall(r'\{\{ figure\("([^"]+)"\) \}\}', text)


def links(text: str) -> set[str]:
    return set(re.findall(r"\]\(([^)]+)\)", text))


def code(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", re.sub(r"`?\{[{%].*?[%}]\}`?", "", text, flags=re.DOTALL)))


def numbers(text: str) -> set[str]:
    return {number.replace(",", "") for number in re.findall(r"\d[\d.,]*\d|\d", prose(text))}


def test_both_languages_have_the_same_files() -> None:
    assert sorted(path.name for path in (CONTENT / "zh").iterdir()) == NAMES
    assert sorted(path.name for path in (CONTENT / "en").iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("part", [section_ids, figures, links, code, numbers], ids=lambda part: part.__name__)
def test_both_languages_say_the_same(name: str, part: Callable[[str], set[str] | list[str]]) -> None:
    english, chinese = part(read("en", name)), part(read("zh", name))
    if isinstance(english, list):
        assert english == chinese
    else:
        assert set(english) ^ set(chinese) <= ONLY_IN_ONE.get(name, set())


def test_every_section_has_an_id_of_its_own_and_a_title() -> None:
    for language in ("en", "zh"):
        text = "".join(read(language, name) for name in NAMES)
        ids = section_ids(text)
        assert len(ids) == len(set(ids)) == len(re.findall(r"^##? ", text, re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_links_into_vllm_are_pinned(name: str) -> None:
    for link in links(read("en", name)):
        if "vllm" in link:
            assert link.startswith("https://github.com/vllm-project/vllm/blob/v0.33.0/")


@pytest.mark.parametrize("name", NAMES)
def test_english_has_no_han(name: str) -> None:
    assert not re.findall(rf"{HAN}|[，。；：？！（）、]", read("en", name))


@pytest.mark.parametrize("name", NAMES)
def test_chinese_typography(name: str) -> None:
    text = read("zh", name)
    # No typed space between Han and Latin, digits, code or links.
    assert not re.findall(rf"{HAN} [\w`\[]|[\w`\])] {HAN}", text)
    # Full-width marks after Han, whatever stands between.
    assert not re.findall(rf"{HAN}[,;:?!()]|[,;?!()]{HAN}|{HAN}\.(?:\s|$)", re.sub(r"\]\([^)]*\)", "]", prose(text)))
    # No space beside a full-width mark.
    assert not re.findall(r"[，。；：？！（）、] (?=\S)(?!\|)|(?<![|\s]) [，。；：？！）、]", text)


@pytest.mark.parametrize("name", NAMES)
def test_emphasis_is_closed(name: str) -> None:
    """Two asterisks between a full-width mark and a letter close nothing in CommonMark."""
    assert not re.findall(rf"[，。；：？！、]\*\*(?={HAN}|\w|`)", read("zh", name))
