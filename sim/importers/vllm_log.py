"""Logs of a vLLM server: its configuration, the size of its KV cache, and what it did over time."""

import re
from collections.abc import Iterable

from ..errors import ConfigError
from ..parameters import shown
from .arguments import Setting
from .importer import Imported, Importer
from .kv_size import KvSize
from .log_line import ITERATION, STATS, LogLine, message_of, numbers_of
from .server import configure, tell_refusal

YEAR_US = 366 * 86_400 * 1_000_000

_VERSION = re.compile(r"(?:vLLM API server version|LLM engine \(v|vLLM version) ?v?(\d+\.\d+[\w.+-]*)")
_ARGUMENTS = re.compile(r"(?:non-default args: |\bargs: Namespace\(|engine args: )")
_ENGINE_CONFIG = re.compile(r"Initializing an? (?:V\d )?LLM engine .*?with config: ")
_QUOTED = re.compile(r"'([a-z_]\w*)': (?:'((?:[^'\\]|\\.)*)'|([-\w.]+))")
_ASSIGNED = re.compile(r"\b([a-z_]\w*)=(?:'((?:[^'\\]|\\.)*)'|([-\w.]+))")
_CONFIG_NAMES = {"max_seq_len": "max_model_len", "num_spec_tokens": "spec_tokens", "method": "spec_method"}
_NOT_GIVEN = ("None", "PydanticUndefined")
_CHUNKED = re.compile(r"Chunked prefill is enabled with max_num_batched_tokens=(\d+)")
_ASYNC = re.compile(r"Asynchronous scheduling is (enabled|disabled)")
_MODEL_LEN = re.compile(r"Using max model len (\d+)")
_MARKS = (
    STATS,
    ITERATION,
    "KV cache size: ",
    "Maximum concurrency for",
    "vLLM API server version",
    "LLM engine (v",
    "# GPU blocks: ",
)
_TOLD = ("enable_prefix_caching", "enable_chunked_prefill", "max_seq_len", "num_spec_tokens", "method", "model")
"""What is taken of the engine's line; the rest of it is about other things."""


def detect(head: str) -> bool:
    """Whether this is the log of a server."""
    return any(mark in head for mark in (*_MARKS, "non-default args: ", " args: Namespace("))


def read(lines: Iterable[str], rows: int | None = None) -> Imported:
    """Configuration and series of a log, and no requests, whose lengths no log tells.

    Args:
        lines: the log, or some lines of it.
        rows: how many lines with numbers to read; `None` for all.

    Raises:
        ConfigError: no line of it can be used.
    """
    reader = _Log()
    for number, line in enumerate(lines, 1):
        if reader.imported.rows == rows:
            break
        reader.take(number, message_of(line))
    reader.finish()
    imported = reader.imported
    if not (imported.rows or imported.config or imported.found):
        raise ConfigError(
            "", f"has no line of a vLLM server, must have such as {shown('Engine 000: ' + STATS + ' ...')}"
        )
    if imported.rows and not imported.series:
        raise ConfigError(str(imported.left_out[0].line), imported.left_out[0].why)
    return imported


class _Log:
    def __init__(self) -> None:
        self.imported = Imported("vllm-log", {})
        self._settings: dict[str, Setting] = {}
        self._kv = KvSize()
        self._points: list[tuple[int, LogLine]] = []
        self._last_us: dict[str, int] = {}
        self._later_us: dict[str, int] = {}

    def take(self, number: int, text: str) -> None:
        """Take what a line tells, if anything."""
        numbers = numbers_of(text)
        if numbers is not None:
            self._numbers(number, numbers)
            return
        version = _VERSION.search(text)
        if version:
            self.imported.found.setdefault("version", version[1])
        match = _ENGINE_CONFIG.search(text)
        if match:
            self._settle(number, _ASSIGNED, text[match.end() :], only=_TOLD)
        elif match := _ARGUMENTS.search(text):
            if match[0].endswith("("):
                self._settle(number, _ASSIGNED, text[match.end() :])
            self._settle(number, _QUOTED, text[match.end() :])
        for pattern, dest in ((_CHUNKED, "max_num_batched_tokens"), (_MODEL_LEN, "max_model_len")):
            if found := pattern.search(text):
                self._settings[dest] = Setting(found[1], dest, number)
        if found := _ASYNC.search(text):
            self._settings["async_scheduling"] = Setting(found[1] == "enabled", "async_scheduling", number)
        self._kv.take(text)

    def _settle(self, number: int, pattern: re.Pattern[str], text: str, only: tuple[str, ...] = ()) -> None:
        """Take arguments; one that is told twice counts as told first, which is what somebody asked for."""
        for match in pattern.finditer(text):
            name = match[1]
            if (only and name not in only) or match[3] in _NOT_GIVEN:
                continue
            dest = {"model_tag": "model", "num_speculative_tokens": "spec_tokens"}.get(
                name, _CONFIG_NAMES.get(name, name)
            )
            value = {"True": True, "False": False}.get(match[3] or "", match[3] if match[2] is None else match[2])
            self._settings.setdefault(dest, Setting(value, dest, number))

    def _numbers(self, number: int, line: LogLine) -> None:
        imported = self.imported
        imported.rows += 1
        if line.missing:
            imported.leave_out(number, f"{line.missing[0]} is missing, the line is cut or of another form")
            return
        time = line.time_us
        if time is not None:
            last = self._last_us.get(line.engine)
            if last is not None and last - time > YEAR_US // 2:
                # The year is not told, and has turned.
                self._later_us[line.engine] = self._later_us.get(line.engine, 0) + YEAR_US
            self._last_us[line.engine] = time
            time += self._later_us.get(line.engine, 0)
        self._points.append((len(self._points) if time is None else time, line))

    def finish(self) -> None:
        """Name the series by engine, count their times from the first, and work out the configuration."""
        imported = self.imported
        timed = [time for time, line in self._points if line.time_us is not None]
        engines = {line.engine: None for _, line in self._points}
        first = min(timed, default=0)
        for time, line in self._points:
            if timed and line.time_us is None:
                continue
            for name, value in line.values.items():
                key = f'{name}{{engine="{line.engine}"}}' if len(engines) > 1 else name
                imported.point(key, time - first, value)
        if timed:
            imported.unit = "clock"
        elif self._points:
            imported.note("by_line")
        if "model" in self._settings:
            imported.found["model"] = self._settings["model"].value
        self._kv.settle(imported, self._settings)
        configure(imported, self._settings)
        self._kv.blocks(imported)
        tell_refusal(imported)


VLLM_LOG = Importer("vllm-log", "log of a vLLM server: configuration, KV cache, statistics (text)", detect, read)
