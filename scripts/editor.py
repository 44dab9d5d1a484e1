"""What the page needs to edit the scheduler, for `build.py`: an editor, the text, and traces of the real scheduler."""

import gzip
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SAMPLE_CHARACTERS, SAMPLE_PER_FAMILY = 9000, 20
"""Recorded traces that the editor of the scheduler brings along are no longer than this, and no more of each family."""

EDITED_SCENARIO = """\
{"name": "tight",
 "config": {
  "max_num_batched_tokens": 16,
  "max_num_seqs": 4,
  "max_model_len": 64,
  "block_size": 4,
  "num_gpu_blocks": 11},
 "requests": [
  {"id": "A", "prompt_tokens": 9,
   "output_tokens": 12},
  {"id": "B", "prompt_tokens": 12,
   "output_tokens": 8},
  {"id": "C", "arrival_step": 1,
   "prompt_tokens": 10, "output_tokens": 10},
  {"id": "D", "arrival_step": 2,
   "prompt_tokens": 6, "output_tokens": 4}]}
"""
"""What an edited scheduler is first run on: memory is so tight that somebody is preempted."""


class EditorError(Exception):
    """The editor cannot be packed; told in one line."""


def write_editor(packages: Path, out: Path) -> None:
    """CodeMirror as PyScript brings it, under names of its own; the text that is edited; the traces it is held against.

    PyScript's chunks have hashes in their names, and some of their exports have none that stays; `codemirror.mjs` gives
    all that the editor uses its own name.
    """
    chunks = {path.name.rsplit("-", 1)[0]: path for path in (packages / "@pyscript" / "core" / "dist").glob("*.js")}
    needed = (
        "codemirror",
        "codemirror_view",
        "codemirror_state",
        "codemirror_language",
        "codemirror_commands",
        "index",
    )
    python = next((path for name, path in chunks.items() if name.startswith("codemirror_lang-python")), None)
    if python is None or any(name not in chunks for name in needed):
        raise EditorError("@pyscript/core has no CodeMirror under the names that are known here")
    target = out / "vendor" / "codemirror"
    copy([chunks[name] for name in needed] + [python], target)
    setup = chunks["codemirror"].read_text("utf-8")
    # This export is known by how `basicSetup` uses it.
    used = re.search(r"(\w+)\((\$|\w+),\{fallback:!0\}\)", setup)
    highlighting = used and re.search(rf"(\w+) as {re.escape(used[1])}[,}}]", setup)
    if not highlighting:
        raise EditorError(f"{chunks['codemirror'].name}: syntaxHighlighting is not where it was")
    lines = (
        f'export {{ EditorView, basicSetup }} from "./{chunks["codemirror"].name}";',
        f'export {{ EditorState }} from "./{chunks["codemirror_state"].name}";',
        f'export {{ {highlighting[1]} as syntaxHighlighting }} from "./{chunks["codemirror_language"].name}";',
        f'export {{ python }} from "./{python.name}";',
    )
    (target / "codemirror.mjs").write_text("\n".join(lines) + "\n", encoding="utf-8")
    copy([ROOT / "sim" / "scheduler.py"], out / "assets")
    sample = json.dumps(golden_sample(), ensure_ascii=False, separators=(",", ":"))
    (out / "assets" / "recorded-sample.json").write_text(sample, encoding="utf-8")


def golden_sample() -> list[dict[str, object]]:
    """Recorded traces for the page: all reported cases and changed rules, and the first short ones of each family."""
    found: list[dict[str, object]] = []
    per_family: Counter[str] = Counter()
    for path in sorted((ROOT / "tests" / "golden").glob("*.jsonl.gz")):
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            recording = json.loads(line)
            family = recording["scenario"]["name"].partition("-")[0]
            if "source" not in recording and (len(line) > SAMPLE_CHARACTERS or per_family[family] >= SAMPLE_PER_FAMILY):
                continue
            per_family[family] += 1
            found.append(recording)
    return found


def copy(sources: Iterable[Path], target: Path) -> None:
    """Copy files into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    for source in sources:
        shutil.copyfile(source, target / source.name)
