"""Takes one rule of the simulator away at a time, and shows which recorded traces notice.

`python tests/mutation/check.py [WORD]...`: for each rule, or each whose name has one of the words, a copy of `sim/` is
changed in one place and the golden tests run on it. A change that no trace notices is a survivor, and makes the exit
status 1.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Mutation(NamedTuple):
    """One rule, the file that it is in, its text and what takes its place."""

    name: str
    file: str
    old: str
    new: str


MUTATIONS = (
    Mutation(
        "victim: the first, not the last", "scheduler", "victim = self.running.pop()", "victim = self.running.pop(0)"
    ),
    Mutation(
        "priority victim: the best, not the worst",
        "scheduler",
        "victim = max(self.running",
        "victim = min(self.running",
    ),
    Mutation("null block: block 0 is handed out", "kv_cache", "self._next_unused = 1", "self._next_unused = 0"),
    Mutation("refund: tokens are lost", "output", "self.token_budget += num_tokens", "self.token_budget += 0"),
    Mutation("refund: encoder budget is lost", "output", "self.encoder_compute_budget += sum(", "_ = sum("),
    Mutation(
        "watermark: on running requests too",
        "kv_cache",
        "if has_scheduled_reqs and request.status is not RequestStatus.RUNNING else 0",
        "if has_scheduled_reqs else 0",
    ),
    Mutation("admission in a step that preempted", "scheduler", "        if step.preempted:\n", "        if False:\n"),
    Mutation(
        "a preempted request goes to the end",
        "queues",
        "self._queue.appendleft(request)",
        "self._queue.append(request)",
    ),
    Mutation("full prompt need not fit", "kv_cache", "if full_sequence_must_fit:", "if False:"),
    Mutation(
        "a full hit keeps its last block",
        "kv_cache",
        "(request.num_tokens - 1) // self.block_size",
        "request.num_tokens // self.block_size",
    ),
    Mutation("cached blocks: the newest is evicted", "kv_cache", "popitem(last=False)", "popitem(last=True)"),
    Mutation(
        "returned blocks: the oldest first",
        "kv_cache",
        "self._returned.extend(reversed(evict_first))",
        "self._returned[:0] = evict_first",
    ),
    Mutation(
        "is_prefill_chunk: derived from the counters",
        "scheduler",
        "step.prefill_scheduled |= request.is_prefill_chunk",
        "step.prefill_scheduled |= request.num_computed_tokens < request.num_tokens - 1",
    ),
    Mutation("cadence without its guard", "scheduler", "and not self.prefill_capacity_bound", "and True"),
    Mutation(
        "async: one step too many", "request", "return placeholders > 0 and", "return False and placeholders > 0 and"
    ),
    Mutation(
        "drafts: those cut off are verified all the same",
        "scheduler",
        "return min(num_new_tokens - num_known, request.num_spec_tokens)",
        "return request.num_spec_tokens",
    ),
    Mutation(
        "threshold holds for a lone request", "scheduler", "if num_requests > 1 else 0", "if num_requests > 0 else 0"
    ),
    Mutation(
        "max_num_active_seqs is ignored",
        "scheduler_state",
        "config.max_num_active_seqs or config.max_num_seqs",
        "config.max_num_seqs",
    ),
    Mutation(
        "rejected drafts stay computed",
        "request",
        "self.num_computed_tokens -= num_rejected",
        "self.num_computed_tokens -= 0",
    ),
    Mutation(
        "stale output moves the counters",
        "request",
        "        self.num_stale_output_tokens = self.num_in_flight_tokens\n",
        "",
    ),
    Mutation(
        "the victim before does not move the index",
        "scheduler",
        "                req_index -= 1\n",
        "                pass\n",
    ),
    Mutation(
        "encoder cache without eviction",
        "encoder_cache",
        "if length > self.num_freeable_slots:",
        "if length > self.num_free_slots:",
    ),
    Mutation("padding of new decodes is left out", "scheduler", "return num_drafts if pads else 0", "return 0"),
    Mutation("watermark is ignored", "config", "return int(self.watermark * self.num_gpu_blocks)", "return 0"),
    Mutation(
        "cadence: skipped requests count as a backlog",
        "scheduler",
        "len(self.waiting) > len(self.deferred_waiting)",
        "bool(self.waiting)",
    ),
    Mutation(
        "threshold: not adaptive", "scheduler", "threshold = max(threshold, self.config", "max(threshold, self.config"
    ),
    Mutation("draft slots: not kept", "output", "-= num_new_tokens + draft_slots", "-= num_new_tokens"),
    Mutation("lookahead: not reserved", "kv_cache", "+ self.num_lookahead_tokens", "+ 0"),
    Mutation("LoRA: an adapter admitted in this step does not count", "scheduler", "scheduled_loras.add(", "_ = ("),
    Mutation(
        "prefix cache: of equal blocks the newest is the hit",
        "kv_cache",
        "        if self._block_of_hash.setdefault(block_hash, block) != block:\n"
        "            self._more_of_hash.setdefault(block_hash, []).append(block)",
        "        other = self._block_of_hash.get(block_hash)\n"
        "        self._block_of_hash[block_hash] = block\n"
        "        if other is not None:\n"
        "            self._more_of_hash.setdefault(block_hash, []).append(other)",
    ),
    Mutation(
        "prefix cache: tokens in flight enter it",
        "scheduler_state",
        "certain = request.num_computed_tokens - request.num_in_flight_tokens",
        "certain = request.num_computed_tokens",
    ),
    Mutation("encoder cache: an output is held for ever", "encoder_cache", "if not counts:", "if False:"),
    Mutation("encoder: the image may be cut", "encoder_cache", "if disable_chunked_mm_input and", "if False and"),
    Mutation(
        "sleep: woken one step late",
        "fast_scheduler",
        "last = step + sequence.end - sequence.tokens - 1",
        "last = step + sequence.end - sequence.tokens",
    ),
    Mutation("sleep: a crowd does not wake", "fast_scheduler", "if self._is_crowded(threshold):", "if False:"),
    Mutation("sleep: a sleeping victim gives nothing back", "fast_scheduler", "restored += 1", "restored += 0"),
)


def copy_with(mutation: Mutation, folder: Path) -> None:
    """A copy of the simulator and of the golden tests, with one rule changed."""
    for name in ("sim", "tests/golden"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
    path = folder / "sim" / f"{mutation.file}.py"
    text = path.read_text("utf-8")
    if text.count(mutation.old) != 1:
        sys.exit(f"{mutation.name}: its text stands {text.count(mutation.old)} times in {path.name}")
    path.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")


def who_notices(mutation: Mutation) -> list[str]:
    """The families of traces that are no longer equal."""
    drivers = ["awake", "fast"] if mutation.file.startswith("fast") else ["plain"]
    with tempfile.TemporaryDirectory() as folder:
        copy_with(mutation, Path(folder))
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-k", " or ".join(drivers)]
        done = subprocess.run(
            [*command, "tests/golden/test_golden.py"], cwd=folder, capture_output=True, text=True, check=False
        )
    # 1: a test failed. Anything else but 0 would be a fault of the check itself.
    if done.returncode not in (0, 1):
        sys.exit(f"{mutation.name}: {done.stdout}{done.stderr}")
    found = re.findall(rf"^FAILED .*recorded_ones\[(\w+)-(?:{'|'.join(drivers)})\]", done.stdout, re.MULTILINE)
    return list(dict.fromkeys(found))


def main(words: list[str]) -> int:
    """Check all rules, or those named; the exit status."""
    chosen = [mutation for mutation in MUTATIONS if not words or any(word in mutation.name for word in words)]
    survivors = 0
    for mutation in chosen:
        families = who_notices(mutation)
        survivors += not families
        print(f"{mutation.name}: {' '.join(families) or 'SURVIVED'}", flush=True)
    print(f"{len(chosen)} rules taken away one at a time, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
