"""What an import takes for granted and what of a file is not simulated: the sentences, by code.

Here they are English, as the command line and the scenario's account have them. The page has those of its language in
its catalogues, as `import.note.<code>`.
"""

from collections.abc import Mapping
from typing import Self

_NOT_MODELLED = {
    "pipeline_parallel_size": "several batches in flight between the stages are not modelled",
    "data_parallel_size": "one engine is simulated; each has its own scheduler and a share of the requests",
    "kv_transfer_config": "requests that wait for KV blocks from elsewhere, and the blocks they hold, are not modelled",
    "kv_offloading_size": "KV blocks in CPU memory are not modelled",
    "ec_transfer_config": "encoder outputs from elsewhere are not modelled",
    "scheduler_cls": "another scheduler than vLLM's own is not modelled",
    "max_num_queued_reqs": "it refuses requests before they reach the scheduler, which is not modelled",
    "max_num_queued_tokens": "it refuses requests before they reach the scheduler, which is not modelled",
    "kv_cache_memory_bytes": "how many blocks it makes depends on the model; give num_gpu_blocks",
    "diffusion_config": "models that denoise blocks of tokens are not modelled",
    "decode_context_parallel_size": "a KV block then holds more tokens than block_size, which is not modelled",
    "prefill_context_parallel_size": "a KV block then holds more tokens than block_size, which is not modelled",
}

NOT_MODELLED = frozenset(_NOT_MODELLED)
"""Arguments with a say in scheduling that the simulator does not have; the code of the note is their name."""

NOTES: Mapping[str, str] = {
    **{name: f"{{flag}} {{value}}: {text}" for name, text in _NOT_MODELLED.items()},
    "model_length": "{flag} {value}: the length is the model's, not known here",
    "no_value": "{flag} takes no value in this vLLM, {value} is read as meant",
    "instead": "{flag}: its place has been taken by {other}",
    "other_config": "--config {value}: what that file sets is not here, import it as well",
    "max_loras": "max_loras is not given, vLLM takes 1",
    "max_num_seqs": "max_num_seqs is not given, vLLM takes no more than max_num_batched_tokens: {n}",
    "max_num_batched_tokens": "max_num_batched_tokens is not given, without chunked prefill vLLM takes {n}",
    "on_by_default": "not given, a server has it on by default and a scenario off: {names}",
    "by_gpu": "not given, the default of a server depends on the GPU: {name} {on_large} on an H100 or H200, "
    "{on_others} on most others",
    "refused": "vLLM refuses this: {message}",
    "cache_config": "cache_config_info: {error}",
    "no_blocks": "{tokens} tokens of KV cache are no whole number of blocks of {size} tokens in a single group: "
    "num_gpu_blocks is not derived (models that mix kinds of attention have several groups)",
    "blocks": "num_gpu_blocks: {blocks} blocks hold {tokens} tokens; one is the null block",
    "blocks_of_16": "num_gpu_blocks: {blocks} blocks hold {tokens} tokens, if a block holds 16, which the log does not "
    "tell; one is the null block",
    "command": "the command on line {line} is read as well; what the server printed counts before it",
    "v0": "this is of vLLM's V0 engine, whose scheduler was another than the one simulated",
    "kv_needed": "vLLM did not start: a request of {length} tokens needs {needed} GiB of KV cache, it had {available}",
    "kv_estimate": "by vLLM's estimate a max_model_len of {n} would have fitted",
    "kv_none": "vLLM did not start: no memory was left for KV blocks",
    "kv_short": "vLLM did not start: a request of {length} tokens is longer than its KV cache, which holds {n}",
    "derived_length": "vLLM refused max_model_len {length}: that of the model is {n}",
    "by_scrape": "the samples have no times: points are counted by scrape",
    "by_line": "the lines have no times: points are counted by line",
    "concurrency": "the client kept at most {n} requests open, which is not simulated",
    "no_lengths": "the result tells no lengths of requests",
    "odd_lengths": "{n} requests do not go with {prompt} and {output} tokens",
    "averages": "the result has no list of requests (--save-detailed): they all have average lengths, and arrive at "
    "equal distances",
    "averages_at_once": "the result has no list of requests (--save-detailed): they all have average lengths, and "
    "arrive at once",
    "sample": "a sample: {n} of {total} requests with their arrivals, so the load is lower",
    "no_config": "a trace does not tell its configuration: set it, or import the scenario",
    "hashes": "a hash stands for {n} tokens, as the numbers of hashes tell",
    "no_arrivals": "the file tells no arrivals: all requests are there from the start",
    "estimated": "lengths are estimated without a tokenizer: four ASCII characters are a token, rounded up, and so is "
    "each other character; the first turn is the prompt and the second the output, as vLLM's benchmark has it",
}


class Note(str):
    """A sentence of `NOTES` in English, with what it takes to say it in another language.

    Args:
        code: a key of `NOTES`.
        values: those of its placeholders.

    >>> Note("hashes", n=512)
    'a hash stands for 512 tokens, as the numbers of hashes tell'
    """

    __slots__ = ("code", "values")

    code: str
    values: Mapping[str, object]

    def __new__(cls, code: str, **values: object) -> Self:
        """The sentence with its values put in."""
        note = super().__new__(cls, NOTES[code].format_map(values))
        note.code, note.values = code, values
        return note
