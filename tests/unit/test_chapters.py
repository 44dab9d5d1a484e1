"""The chapters in both languages: the same sections, figures, links, code and numbers, each in its typography."""

import re
from pathlib import Path

import pytest

from tests.languages import numbers

CONTENT = Path(__file__).resolve().parents[2] / "site" / "content"
NAMES = sorted(path.name for path in (CONTENT / "en").glob("*.md"))
SYMBOLS = {
    "EngineArgs._set_default_max_num_seqs_and_batched_tokens_args": "vllm/engine/arg_utils.py",
    "EngineArgs.get_batch_defaults": "vllm/engine/arg_utils.py",
    "EngineCore.step": "vllm/v1/engine/core.py",
    "EngineCore.step_with_batch_queue": "vllm/v1/engine/core.py",
    "KVCacheManager.allocate_slots": "vllm/v1/core/kv_cache_manager.py",
    "KVCacheManager.get_computed_blocks": "vllm/v1/core/kv_cache_manager.py",
    "Scheduler._preempt_request": "vllm/v1/core/sched/scheduler.py",
    "Scheduler._try_schedule_encoder_inputs": "vllm/v1/core/sched/scheduler.py",
    "Scheduler._update_after_schedule": "vllm/v1/core/sched/scheduler.py",
    "Scheduler.schedule": "vllm/v1/core/sched/scheduler.py",
    "Scheduler.update_from_output": "vllm/v1/core/sched/scheduler.py",
    "SchedulerConfig.verify_max_model_len": "vllm/config/scheduler.py",
}
"""Functions of vLLM 0.33.0 that the chapters name, and where each is defined there."""
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


def claims(text: str) -> list[str]:
    """What is said in one place: paragraphs, and single items of lists."""
    return re.split(r"\n\n+|\n(?=- |\d\. )", text)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_functions_of_vllm_stand_beside_a_link_to_their_file(name: str, language: str) -> None:
    for claim in claims(read(language, name)):
        files = [link.partition("/blob/v0.33.0/")[2] for link in links(claim)]
        for symbol in re.findall(r"`([A-Z]\w+\.\w+)`", claim):
            assert symbol in SYMBOLS, f"{symbol}: look it up in vLLM 0.33.0, and note its file"
            assert SYMBOLS[symbol] in files, claim


def test_noted_functions_are_all_named() -> None:
    text = "".join(read("en", name) for name in NAMES)
    assert [symbol for symbol in SYMBOLS if f"`{symbol}`" not in text] == []


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
