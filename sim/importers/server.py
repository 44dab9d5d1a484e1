"""From arguments of `vllm serve`, wherever they were found, to the configuration of a scenario.

Source: `vllm/engine/arg_utils.py` of 0.33.0: conversions, and defaults that follow from other arguments.
"""

from collections.abc import Mapping
from typing import Any

from ..config import Config, parse_config
from ..errors import ConfigError
from ..parameters import CONFIG, Parameter, shown
from .arguments import Setting
from .human import human_readable_int, human_readable_int_or_auto
from .importer import Imported
from .notes import NOT_MODELLED
from .speculation import parse_json, speculation

_HUMAN = ("max_num_batched_tokens", "max_num_scheduled_tokens")
_SPECULATIVE = (("spec_method", "method"), ("spec_model", "model"), ("spec_tokens", "num_speculative_tokens"))
_BY_DEST = {row.flag[2:].replace("-", "_"): row for row in CONFIG if row.flag and "." not in row.flag}


def configure(imported: Imported, settings: Mapping[str, Setting]) -> None:
    """Put into the configuration what the arguments say, and tell what of them is not simulated.

    Args:
        imported: is filled; a value that cannot be used is left out with its line and why.
        settings: arguments by name.
    """
    for dest, setting in settings.items():
        row = _BY_DEST.get(dest)
        if dest == "max_loras" and not setting.flag.startswith("-") and not _is_on(settings, "enable_lora"):
            # A log lists the default, which has no effect.
            continue
        if row is not None:
            _set(imported, row, setting)
        elif dest in NOT_MODELLED and setting.value not in (None, "None", "1", 1):
            imported.note(dest, flag=setting.flag, value=_text(setting.value))
    _speculate(imported, settings)
    _follow(imported, settings)


def _is_on(settings: Mapping[str, Setting], dest: str) -> bool:
    return dest in settings and settings[dest].value is True


def _text(value: object) -> str:
    return value if isinstance(value, str) else shown(value)


def _set(imported: Imported, row: Parameter, setting: Setting) -> None:
    if setting.value in (None, "None", "") and row.none_means:
        return
    try:
        value = _converted(row, setting.value)
        if value is None:
            imported.note("model_length", flag=setting.flag, value=_text(setting.value))
            return
        imported.config[row.name] = row.check(value, setting.flag)
    except ConfigError as error:
        imported.leave_out(setting.line, str(error))
    except ValueError as error:
        imported.leave_out(setting.line, f"{setting.flag}: {shown(setting.value)} is not allowed, {error}")


def _converted(row: Parameter, value: object) -> object:
    """The value that vLLM's parser makes of a text; what is no text stands for itself."""
    if not isinstance(value, str):
        return None if row.name == "max_model_len" and value == -1 else value
    if row.name == "max_model_len":
        return human_readable_int_or_auto(value)
    if row.name in _HUMAN:
        return human_readable_int(value)
    try:
        match row.kind:
            case "int":
                return int(value) if len(value) < 400 else value
            case "number":
                return float(value)
    except ValueError:
        return value
    return value


def _speculate(imported: Imported, settings: Mapping[str, Setting]) -> None:
    given: dict[str, Any] = {}
    source = settings.get("speculative_config")
    try:
        if source is not None and source.value not in (None, "None", ""):
            given = parse_json(source.value)
        for dest, key in _SPECULATIVE:
            if dest in settings and settings[dest].value is not None:
                source = settings[dest]
                given[key] = source.value
        if given:
            imported.config |= speculation(given)
    except ConfigError as error:
        assert source is not None
        imported.leave_out(source.line, f"{source.flag}: {error}")


def _follow(imported: Imported, settings: Mapping[str, Setting]) -> None:
    """What vLLM takes for arguments that were not given, where it follows from those that were."""
    config, default = imported.config, Config()
    if _is_on(settings, "enable_lora") and "max_loras" not in config:
        config["max_loras"] = 1
        imported.note("max_loras")
    batched = config.get("max_num_batched_tokens")
    if batched is not None and "max_num_seqs" not in config and batched < default.max_num_seqs:
        config["max_num_seqs"] = batched
        imported.note("max_num_seqs", n=batched)
    length = config.get("max_model_len", default.max_model_len)
    if batched is None and config.get("enable_chunked_prefill") is False and length > default.max_num_batched_tokens:
        config["max_num_batched_tokens"] = length
        imported.note("max_num_batched_tokens", n=length)


def tell_defaults(imported: Imported) -> None:
    """Tell which defaults of a server differ from those of a scenario, where nothing was given."""
    config = imported.config
    on = [name for name in ("enable_prefix_caching", "async_scheduling") if name not in config]
    if on:
        imported.note("on_by_default", names=", ".join(on))
    for name, on_large, on_others in (("max_num_batched_tokens", 8192, 2048), ("max_num_seqs", 1024, 256)):
        if name not in config:
            imported.note("by_gpu", name=name, on_large=on_large, on_others=on_others)


def tell_refusal(imported: Imported) -> None:
    """Tell if vLLM would not start with this configuration, in its own words."""
    refusal = parse_config(imported.config).refusal()
    if refusal is not None:
        imported.note("refused", message=refusal.reason)
