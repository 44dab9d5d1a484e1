"""Reasons and findings in words: a sentence for every code, its operands behind."""

from collections.abc import Mapping

from ..diagnosis import Finding
from ..reasons import Reason

SENTENCES = {
    "token_budget": "all tokens of the step are handed out",
    "draft_slots": "the input positions left are no more than a request keeps for its drafter",
    "max_num_seqs": "as many requests run as may",
    "chunked_prefill_off": "the prompt is longer than the budget left and may not be cut",
    "kv_blocks": "it needs more blocks than are free above the watermark",
    "preempted": "it lost its blocks",
    "after_preemption": "nobody is admitted in a step that preempts",
    "head_of_line": "an earlier request in the queue cannot be admitted",
    "prefill_interval": "prefill is held back",
    "encoder_budget": "the next image is larger than what the encoder may still compute",
    "encoder_cache": "the next image does not fit into the encoder cache",
    "chunked_mm_input_off": "the next image may not be cut, and the tokens left do not cover it",
    "encoder_mismatch": "its image has the hash of one of another length",
    "beyond_prompt": "an image beyond its prompt took it past its known tokens, it lacks nothing now",
    "max_loras": "as many adapters are in use as may, and it wants another one",
    "spec_padding": "it runs with its draft slots filled up or not at all, and they do not fit",
    "model_len": "the sequence has reached max_model_len",
    "long_prefill_token_threshold": "one request may have no more tokens while others are there",
    "async_finishing": "the batch in flight brings its last token",
    "async_stale_output": "an output from before its preemption is still in flight",
}


FINDINGS = {
    "refused": "vLLM refuses this configuration",
    "never_fits": "a request needs more than there is, even alone",
    "livelock": "the run goes on without a token of output",
    "stalled": "requests are left, and nothing can be scheduled any more",
    "output_cut": "output ends at max_model_len before all of it is there",
    "starvation": "requests get no token for many steps in a row, while others do",
    "head_of_line": "the head of the queue cannot be admitted, and requests behind it would have fitted",
    "thrash": "preemptions took back what had been computed, and it was computed again",
    "budget_unused": "requests wait for something else while at most half of the budget is used",
    "prefill_stalls": "decodes are slowed down by steps full of prefill",
    "block_waste": "blocks run out while many slots in them are empty",
    "cache_off": "shared prefixes are computed again, prefix caching is off",
    "cache_blocks": "shared prefixes are computed again, they end within a block",
    "cache_evicted": "shared prefixes are computed again, their blocks had been given to others",
}


def finding_sentence(finding: Finding) -> str:
    """`finding` in words, its operands behind."""
    return _with_operands(FINDINGS[finding.code], finding.operands)


def sentence(reason: Reason) -> str:
    """`reason` in words, such as `as many requests run as may (limit 4, running 4)`."""
    code = str(reason["code"])
    return _with_operands(SENTENCES.get(code, code), {key: value for key, value in reason.items() if key != "code"})


def _with_operands(text: str, operands: Mapping[str, int | str | list[str]]) -> str:
    told = ", ".join(f"{key} {_words(value)}" for key, value in operands.items())
    return f"{text} ({told})" if told else text


def _words(value: int | str | list[str]) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)
