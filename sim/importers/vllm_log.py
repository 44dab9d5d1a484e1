"""Logs of a vLLM server: its configuration, the size of its KV cache, and what it did over time."""

import re
from collections.abc import Iterable

from ..errors import ConfigError
from ..parameters import shown
from .arguments import Setting
from .importer import Imported, Importer
from .kv_size import KvSize
from .log_command import LogCommand
from .log_line import ITERATION, STATS, LogLine, arguments_of, message_of, numbers_of
from .log_settings import MARKS, LogSettings
from .server import configure, tell_defaults, tell_refusal

YEAR_US = 366 * 86_400 * 1_000_000

_VERSION = re.compile(r"(?:vLLM API server version|LLM engine \(v|vLLM version) ?v?(\d+\.\d+[\w.+-]*)")
_ARGUMENTS = re.compile(r"(?:non-default args: |\bargs: Namespace\(|engine args: )")
_ENGINE_CONFIG = re.compile(r"Initializing an? (?:V\d )?LLM engine .*?with config: ")
_QUOTED = re.compile(r"'([a-z_]\w*)': (?:'((?:[^'\\]|\\.)*)'|([-\w.]+))")
_ASSIGNED = re.compile(r"\b([a-z_]\w*)=(?:'((?:[^'\\]|\\.)*)'|([-\w.]+))")
_NAMES = {"max_seq_len": "max_model_len", "model_tag": "model"}
_NAMES |= dict.fromkeys(("num_spec_tokens", "num_speculative_tokens"), "spec_tokens")
_SPECULATIVE = ("method", "model", "num_speculative_tokens", "num_spec_tokens")
_NOT_GIVEN = ("None", "PydanticUndefined")
_V0 = re.compile(r"# CPU blocks: \d|Swapped: \d+ reqs|\bV0 LLM engine|can be stored in KV cache \(")
_MARKS = (
    *(STATS, ITERATION, "KV cache size: ", "Maximum concurrency for", "vLLM API server version", "LLM engine (v"),
    *("# GPU blocks: ", "# CPU blocks: ", "non-default args: ", " args: Namespace("),
    *MARKS,
)
_TOLD = ("enable_prefix_caching", "enable_chunked_prefill", "max_seq_len", "model")
"""What is taken of the engine's line; the rest of it is about other things."""


def detect(head: str) -> bool:
    """Whether this is the log of a server."""
    return any(mark in head for mark in _MARKS)


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
    if not (imported.rows or imported.config or imported.found or imported.notes):
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
        self._told = LogSettings()
        self._kv = KvSize()
        self._command = LogCommand()
        self._points: list[tuple[int, LogLine]] = []
        self._last_us: dict[str, int] = {}
        self._later_us: dict[str, int] = {}

    def take(self, number: int, text: str) -> None:
        """Take what a line tells, if anything."""
        if _V0.search(text):
            self.imported.note("v0")
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
            pattern = _ASSIGNED if match[0].endswith("(") else _QUOTED
            self._settle(number, pattern, text[match.end() :].removeprefix("{"))
        self._told.take(number, text)
        self._kv.take(text)
        self._command.take(number, text)

    def _settle(self, number: int, pattern: re.Pattern[str], text: str, only: tuple[str, ...] = ()) -> None:
        """Take arguments; one that is told twice counts as told first, which is what somebody asked for."""
        arguments, speculative = arguments_of(text)
        found = [(match, "") for match in pattern.finditer(arguments) if not only or match[1] in only]
        for inner in (_QUOTED, _ASSIGNED):
            found += [(match, "spec_") for match in inner.finditer(speculative) if match[1] in _SPECULATIVE]
        for match, before in found:
            if match[3] in _NOT_GIVEN:
                continue
            dest = before + _NAMES.get(match[1], match[1])
            value = {"True": True, "False": False}.get(match[3] or "", match[3] if match[2] is None else match[2])
            self._settings.setdefault(dest.replace("spec_spec_", "spec_"), Setting(value, dest, number))

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
        self._points.sort(key=lambda point: point[0])
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
        self._settle_all()
        tell_refusal(imported)

    def _settle_all(self) -> None:
        """The configuration: of the command, over it what the server lists, over that what it resolved."""
        imported = self.imported
        given = self._command.settings(imported)
        told = self._told.refused | self._settings | self._told.resolved
        self._kv.settle(imported, told)
        settings = given | told
        if "model" in settings:
            imported.found["model"] = settings["model"].value
        self._told.tell(imported, settings)
        configure(imported, settings)
        self._kv.blocks(imported)
        if given:
            tell_defaults(imported)


VLLM_LOG = Importer("vllm-log", "log of a vLLM server: configuration, KV cache, statistics (text)", detect, read)
