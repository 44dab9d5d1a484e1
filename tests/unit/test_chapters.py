"""The chapters in both languages: the same sections, figures, links, code and numbers, each in its typography."""

import re
from pathlib import Path

import pytest

from tests.languages import numbers

CONTENT = Path(__file__).resolve().parents[2] / "site" / "content"
NAMES = sorted(path.name for path in (CONTENT / "en").glob("*.md"))
HAN = "[\u3400-\u9fff]"


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


def paragraphs(text: str) -> list[str]:
    """What stands between empty lines."""
    return re.split(r"\n\n+", text.strip())


def test_both_languages_have_the_same_files() -> None:
    assert sorted(path.name for path in (CONTENT / "zh").iterdir()) == NAMES
    assert sorted(path.name for path in (CONTENT / "en").iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_have_the_same_sections_and_figures(name: str) -> None:
    english, chinese = read("en", name), read("zh", name)
    assert section_ids(english) == section_ids(chinese)
    assert figures(english) == figures(chinese)


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_say_the_same_paragraph_by_paragraph(name: str) -> None:
    """Links, code and numbers, also those that are written out."""
    english, chinese = paragraphs(read("en", name)), paragraphs(read("zh", name))
    assert len(english) == len(chinese)
    for one, other in zip(english, chinese, strict=True):
        assert links(one) == links(other)
        assert code(one) == code(other), one
        assert numbers(prose(one), "en") == numbers(prose(other), "zh"), one


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
