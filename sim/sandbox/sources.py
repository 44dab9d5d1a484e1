"""Where in vLLM each reason is decided: the line of the scheduler at the pinned version."""

from .. import VLLM_VERSION

FILE = "vllm/v1/core/sched/scheduler.py"
ADDRESS = f"https://github.com/vllm-project/vllm/blob/v{VLLM_VERSION}/{FILE}"

RUNNING = {
    "token_budget": 795,
    "draft_slots": 797,
    "async_finishing": 800,
    "prefill_interval": 822,
    "long_prefill_token_threshold": 844,
    "model_len": 852,
    "beyond_prompt": 891,
}
"""Lines of the loop over `running`; the other codes have the same line for both queues."""

LINES = {
    "preempted": 972,
    "after_preemption": 1050,
    "token_budget": 1062,
    "draft_slots": 1068,
    "max_num_seqs": 1073,
    "async_stale_output": 1084,
    "max_loras": 1092,
    "prefill_interval": 1290,
    "spec_padding": 1326,
    "long_prefill_token_threshold": 1332,
    "chunked_prefill_off": 1337,
    "kv_blocks": 1454,
    "encoder_mismatch": 1981,
    "chunked_mm_input_off": 2098,
    "encoder_budget": 2154,
    "encoder_cache": 2154,
}
"""Lines of the loop over `waiting`, and of what both loops call."""


def line_of(code: str, *, is_running: bool) -> int | None:
    """The line that decides.

    Args:
        code: of a reason; that of `head_of_line` is the line of its `because`.
        is_running: whether the request is in `running`.

    Returns:
        The number of the line in `FILE`, `None` for a code that is not vLLM's.
    """
    return RUNNING.get(code, LINES.get(code)) if is_running else LINES.get(code)
