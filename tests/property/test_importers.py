"""Whatever is handed in, an importer gives a scenario that can be parsed, or says in one line why not."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sim.errors import ConfigError
from sim.importers import FORMATS, read_file
from sim.importers.text import lines_of
from sim.scenario import parse_scenario

DATA = Path(__file__).resolve().parents[1] / "data"
SUFFIXES = {".csv", ".json", ".jsonl", ".log", ".txt"}
FILES = [path.read_bytes()[:6000] for path in sorted(DATA.iterdir()) if path.suffix in SUFFIXES]
COMMAND = b"""CUDA_VISIBLE_DEVICES=0 vllm serve "$M" --max-num-seqs=4 -sc.x '{"a": 1}' \\\n --max-model-len 8k -O3"""
YAML = b"model: m\nmax-num-seqs: [1, {a: 'b'}]\nx:\n- y: |\n    z\n  w: \"q\"\nno-async-scheduling: on\n"


def outcome(name: str, content: bytes) -> None:
    try:
        imported = read_file(name, lines_of([content]))
    except ConfigError:
        return
    with contextlib.suppress(ConfigError):
        parse_scenario(imported.to_scenario("x"))
    assert imported.left_out_total >= len(imported.left_out) <= 20


@pytest.mark.parametrize("name", ["auto", *FORMATS])
@given(content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
@example(content=b"{" * 5000)
@example(content=b"[" * 5000)
@example(content=b'"' * 3000)
def test_anything(name, content):
    outcome(name, content)


@st.composite
def damaged(draw) -> bytes:
    """A real file with pieces taken out, doubled, or changed."""
    content = draw(st.sampled_from([*FILES, COMMAND, YAML]))
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(content)))
        end = min(len(content), begin + draw(st.integers(0, 40)))
        content = (
            content[:begin]
            + draw(st.sampled_from([b"", content[begin:end] * 2, b"\n", b"{", b'"', b"\xff", b"-9", b"null"]))
            + content[end:]
        )
    return content


@given(content=damaged(), name=st.sampled_from(["auto", *FORMATS]))
def test_damaged_files(content, name):
    outcome(name, content)
