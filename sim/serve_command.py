"""A configuration as a `vllm serve` line that starts a server with it, whatever the GPU."""

from .config import Config
from .parameters import CONFIG

MODEL = "MODEL"
"""Stands for the model, which a scenario does not name."""

BY_SERVER = {"max_num_batched_tokens", "max_num_seqs", "max_model_len", "enable_prefix_caching", "async_scheduling"}
"""What a server has otherwise: by GPU and use, by model, or on. Source: `vllm/engine/arg_utils.py::EngineArgs`."""

DRAFTS = "# speculative decoding also needs its method and, for most, a model: --speculative-config.method ...\n"


def serve_command(config: Config) -> str:
    """The line, ending in a newline; what a flag alone cannot say follows as comments.

    Left out is what a server has by itself: values of the table's defaults, but for `BY_SERVER`.
    """
    flags, notes = [], []
    for row in CONFIG:
        value = getattr(config, row.name)
        if row.name == "cost_model" or (value == row.default and row.name not in BY_SERVER):
            continue
        if not row.flag:
            notes.append(f"# {row.name} = {value}: no flag of vllm serve\n")
        elif row.kind == "bool":
            flags.append(row.flag if value else row.flag.replace("--", "--no-", 1))
        else:
            flags.append(f"{row.flag} {value}")
    if config.num_speculative_tokens:
        notes.append(DRAFTS)
    return " ".join(("vllm serve", MODEL, *flags)) + "\n" + "".join(notes)
