"""A configuration as a `vllm serve` line: the flags whose values are not the table's defaults."""

from .config import Config
from .parameters import CONFIG

MODEL = "MODEL"
"""Stands for the model, which a scenario does not name."""


def serve_command(config: Config) -> str:
    """The line, ending in a newline; settings without a flag of `vllm serve` follow as comments.

    The defaults are those of a scenario; `vllm serve` takes some of its own from the GPU and the use.
    """
    flags, notes = [], []
    for row in CONFIG:
        value = getattr(config, row.name)
        if value == row.default or row.name == "cost_model":
            continue
        if not row.flag:
            notes.append(f"# {row.name} = {value}: no flag of vllm serve\n")
        elif row.kind == "bool":
            flags.append(row.flag if value else row.flag.replace("--", "--no-", 1))
        else:
            flags.append(f"{row.flag} {value}")
    return " ".join(("vllm serve", MODEL, *flags)) + "\n" + "".join(notes)
