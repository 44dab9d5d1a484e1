"""The glossary: the same terms in both languages, each pinned to its place in vLLM, each marked once in a chapter."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from scripts.glossary import GlossaryError, Marker, Term, check_glossaries, read_glossary

FOLDER = Path(__file__).resolve().parents[2] / "site" / "content" / "glossary"
TERMS = {
    language: read_glossary(FOLDER / f"{language}.md", MarkdownIt("commonmark").render) for language in ("en", "zh")
}
HAN = "[\u3400-\u9fff]"
WANTED = (
    *(
        "vllm",
        "token",
        "prompt",
        "step",
        "continuous-batching",
        "prefill",
        "decode",
        "num-computed-tokens",
        "budget",
        "max-num-seqs",
    ),
    *(
        "chunked-prefill",
        "head-of-line",
        "starvation",
        "kv-cache",
        "kv-connector",
        "kv-block",
        "preemption",
        "recompute",
        "watermark",
    ),
    *("prefix-cache", "draft", "async-scheduling", "ttft", "itl", "throughput", "goodput"),
)


def term(id_: str, *words: str) -> Term:
    return Term(id_, id_, words, f"<p>{id_}</p>")


def test_both_languages_explain_the_same_terms() -> None:
    assert tuple(one.id for one in TERMS["en"]) == WANTED
    assert tuple(one.id for one in TERMS["zh"]) == WANTED
    check_glossaries(TERMS)
    for english, chinese in zip(TERMS["en"], TERMS["zh"], strict=True):
        links = [re.findall(r'href="([^"]+)"', one.html) for one in (english, chinese)]
        assert links[0] == links[1], english.id
        for link in links[0]:
            assert link.startswith("https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/")
        code = [re.findall(r"<code>([^<]+)</code>", one.html) for one in (english, chinese)]
        assert code[0] == code[1], english.id


def test_typography() -> None:
    for one in TERMS["en"]:
        assert not re.search(rf"{HAN}|[，。；：？！（）、]", one.title + one.html), one.id
    for one in TERMS["zh"]:
        plain = re.sub(r"<[^>]+>", "", one.html)
        assert re.search(HAN, plain), one.id
        assert not re.search(rf"{HAN} \w|\w {HAN}|{HAN}[,;:?!()]|[,;?!()]{HAN}", one.title + plain), one.id


@pytest.mark.parametrize(
    ("other", "named"),
    [([term("a")], "b"), ([term("a"), term("b"), term("c")], "c"), ([term("b"), term("a")], "their order")],
)
def test_languages_that_differ_are_named(other: list[Term], named: str) -> None:
    with pytest.raises(GlossaryError, match=rf"en and zh differ in {named}$"):
        check_glossaries({"en": [term("a"), term("b")], "zh": other})


LINK = '<a class="term" href="glossary/#{0}" aria-describedby="term-{0}">{1}</a>'


def test_the_first_mention_in_each_chapter_is_a_link() -> None:
    marker = Marker([term("decode", "decode", "decodes")], "glossary/")
    assert (
        marker.mark("<p>Two Decodes, one decode.</p>") == f"<p>Two {LINK.format('decode', 'Decodes')}, one decode.</p>"
    )
    assert marker.mark("<p>a decode</p>") == f"<p>a {LINK.format('decode', 'decode')}</p>"
    assert marker.chapters == {"decode": [0, 1]}


def test_the_longest_word_counts_and_words_are_whole() -> None:
    marker = Marker([term("prefill", "prefill"), term("chunked-prefill", "chunked prefill")], "glossary/")
    html = marker.mark("<p>chunked prefill, prefills, prefill-first, prefill_x, prefill</p>")
    chunked, prefill = LINK.format("chunked-prefill", "chunked prefill"), LINK.format("prefill", "prefill")
    assert html == f"<p>{chunked}, prefills, prefill-first, prefill_x, {prefill}</p>"


def test_chinese_words_need_no_spaces_around_them() -> None:
    marker = Marker([term("budget", "预算")], "glossary/")
    assert marker.mark("<p>大家的预算用完</p>") == f"<p>大家的{LINK.format('budget', '预算')}用完</p>"


@pytest.mark.parametrize(
    "html",
    [
        "<h2>The token</h2>",
        "<h3>A <em>token</em></h3>",
        '<p><a href="x"><b>token</b></a></p>',
        "<p><code>token</code></p>",
        "<table><tr><th>token</th></tr></table>",
        '<p title="token">x</p>',
        "<!-- figure:token -->",
    ],
)
def test_headings_links_code_and_attributes_are_left_alone(html: str) -> None:
    marker = Marker([term("token", "token")], "glossary/")
    assert marker.mark(html) == html
    with pytest.raises(GlossaryError, match="no chapter says 'token'"):
        marker.check()


def test_code_is_marked_as_a_whole_where_the_glossary_says_so() -> None:
    marker = Marker([term("places", "`max_num_seqs`")], "glossary/")
    html = marker.mark("<p>max_num_seqs <code>max_num_seqs = 4</code> <code>max_num_seqs</code></p>")
    link = LINK.format("places", "max_num_seqs")
    assert html == f"<p>max_num_seqs <code>max_num_seqs = 4</code> <code>{link}</code></p>"
    marker.check()
