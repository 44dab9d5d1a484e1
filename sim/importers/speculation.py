"""What a speculative configuration of `vllm serve` means to the scheduler.

Source: `vllm/config/speculative.py` (method, `max_num_new_slots_for_drafting`) and `vllm/config/vllm.py`
(`num_lookahead_tokens`) of 0.33.0.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..errors import ConfigError
from ..parameters import CONFIG, by_name, shown
from .human import human_readable_int

_SUFFIXED = re.compile(r'"(?:[^"\\]|\\.)*"|\b\d+(?:\.\d+)?[kKmMgGtT]\b', re.ASCII)
_NO_DRAFTER = ("ngram", "[ngram]", "ngram_gpu", "suffix", "custom_class", "extract_hidden_states")
_BY_NAME = (("eagle-", "eagle"), ("eagle3", "eagle3"), ("dflash", "dflash"), ("dspark", "dspark"), ("mtp", "mtp"))
"""What in the name of a draft model tells its method, in the order of vLLM's checks."""


def parse_json(value: object) -> dict[str, Any]:
    """A value in JSON as vLLM's flags accept it: integers outside quotes may have suffixes.

    Raises:
        ConfigError: no JSON, or no object.
    """
    if isinstance(value, Mapping):
        return dict(value)
    text = str(value)
    try:
        found = json.loads(_SUFFIXED.sub(_digits, text))
    except (ValueError, RecursionError) as error:
        raise ConfigError("", f"{shown(text)} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ConfigError("", f"{shown(text)} is not allowed, must be an object in JSON")
    return found


def _digits(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else str(human_readable_int(match[0]))


def speculation(given: Mapping[str, Any]) -> dict[str, int]:
    """The keys of a scenario's configuration that follow from a speculative configuration.

    Args:
        given: its keys and values; dashes in keys are underscores.

    Raises:
        ConfigError: the number of drafts is missing or is none.
    """
    values = {key.replace("-", "_"): value for key, value in given.items()}
    count = values.get("num_speculative_tokens")
    if isinstance(count, str):
        with suppress(ValueError):
            count = int(count)
    if count is None:
        raise ConfigError("num_speculative_tokens", "missing; what the draft model brings along is not known here")
    drafts = by_name(CONFIG)["num_speculative_tokens"].check(count, "num_speculative_tokens")
    assert isinstance(drafts, int)
    method = _method(values)
    found = {"num_speculative_tokens": drafts}
    if method in _NO_DRAFTER:
        return found
    found["num_lookahead_tokens"] = drafts + (method == "dflash")
    slots = _slots(method, drafts, parallel=values.get("parallel_drafting") is True)
    return found | ({"draft_slots_per_request": slots} if slots else {})


def _method(values: Mapping[str, Any]) -> str:
    model = str(values.get("model") or "").lower()
    method = values.get("method")
    if isinstance(method, str) and method and method != "draft_model":
        return "mtp" if method.endswith("_mtp") else method
    if model in {"ngram", "[ngram]"}:
        return "ngram"
    return next((name for part, name in _BY_NAME if part in model), "draft_model")


def _slots(method: str, drafts: int, *, parallel: bool) -> int:
    """Input slots that a request needs for drafts besides the one it decodes with."""
    if method in {"dflash", "dspark"}:
        return 0
    if parallel:
        return drafts if method == "draft_model" else drafts - 1
    return 1 if method == "draft_model" else 0
