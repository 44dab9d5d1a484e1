"""Metrics of vLLM in the text form of Prometheus or OpenMetrics: one scrape, or several one after the other.

Source: `vllm/v1/metrics/loggers.py` of 0.33.0; names of older releases are taken for what they are called now.
"""

import re
from collections.abc import Iterable, Mapping
from math import isfinite, nan
from typing import Any, NamedTuple

from ..errors import ConfigError
from ..parameters import CONFIG, by_name, shown
from .importer import Imported, Importer
from .prometheus_answer import answer_lines

GAUGES = (
    *("num_requests_running", "num_requests_waiting", "num_requests_waiting_by_reason", "kv_cache_usage_perc"),
    *("num_requests_kv_fetch_by_stage", "engine_sleep_state", "num_requests_swapped", "cpu_cache_usage_perc"),
    *("cpu_prefix_cache_hit_rate", "avg_prompt_throughput_toks_per_s", "avg_generation_throughput_toks_per_s"),
)
COUNTERS = (
    *("num_preemptions", "prefix_cache_queries", "prefix_cache_hits", "external_prefix_cache_queries"),
    *("external_prefix_cache_hits", "mm_cache_queries", "mm_cache_hits", "prompt_tokens", "prompt_tokens_by_source"),
    *("prompt_tokens_cached", "prompt_tokens_cached_by_source", "generation_tokens", "request_success"),
    *("admission_rejections", "corrupted_requests", "watermark_requests", "spec_decode_num_drafts"),
    *("spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens", "spec_decode_num_accepted_tokens_per_pos"),
    *("estimated_flops_per_gpu", "estimated_read_bytes_per_gpu", "estimated_write_bytes_per_gpu"),
)
HISTOGRAMS = (
    *("iteration_tokens_total", "time_to_first_token_seconds", "inter_token_latency_seconds"),
    *("request_time_per_output_token_seconds", "time_per_output_token_seconds", "e2e_request_latency_seconds"),
    *("request_queue_time_seconds", "request_inference_time_seconds", "request_prefill_time_seconds"),
    *("request_decode_time_seconds", "request_prompt_tokens", "request_generation_tokens", "request_num_preemptions"),
    *("request_max_num_generation_tokens", "request_params_n", "request_params_max_tokens"),
    *("request_prefill_kv_computed_tokens", "kv_block_lifetime_seconds", "kv_block_idle_before_evict_seconds"),
    *("kv_block_reuse_gap_seconds",),
)
ALIASES = {
    "gpu_cache_usage_perc": "kv_cache_usage_perc",
    "gpu_prefix_cache_queries": "prefix_cache_queries",
    "gpu_prefix_cache_hits": "prefix_cache_hits",
    "gpu_prefix_cache_hit_rate": "prefix_cache_hit_rate",
}
_INFO = ("cache_config_info", "lora_requests_info")
_OF_SERVER = ("model_name", "engine", "job", "instance", "namespace", "pod", "container", "endpoint", "service", "node")
_OF_V0 = ("num_requests_swapped", "cpu_cache_usage_perc")
_PLAIN = {*GAUGES, *COUNTERS, "prefix_cache_hit_rate"}
_TEXT = r'(?:[^"\\]|\\.)*'
_LABEL = re.compile(rf'\s*([a-zA-Z_]\w*)\s*=\s*"({_TEXT})"\s*(?:,|$)', re.ASCII)
_LABELS = rf'(?:"{_TEXT}"|[^"}}])*'  # to the first brace outside a text: an exemplar behind the value has braces too
_SAMPLE = re.compile(rf"([a-zA-Z_:][\w:]*)(?:\{{({_LABELS})\}})?[ \t]+(\S+)(?:[ \t]+(\S+))?(?:[ \t]+#.*)?\s*", re.ASCII)
_NAME = re.compile(r"^(?:# (?:HELP|TYPE) )?vllm[:_]\w+", re.MULTILINE)
_ROWS = by_name(CONFIG)
MOST_TIME = 1e15
"""In ms, which is far from now."""


class Sample(NamedTuple):
    """A line: the metric, its labels, its value, its time in us or `None`."""

    name: str
    labels: Mapping[str, str]
    value: float
    time_us: int | None


def detect(head: str) -> bool:
    """Whether this is a scrape of vLLM's metrics."""
    if head.lstrip().startswith("{"):
        return '"resultType"' in head and '"__name__"' in head and '"vllm' in head
    return bool(_NAME.search(head)) and not head.lstrip().startswith("[")


def read(lines: Iterable[str], rows: int | None = None) -> Imported:
    """Series of vLLM's metrics, and the configuration that they tell.

    Args:
        lines: the file, or an answer of the HTTP interface. A metric that comes again begins the next scrape.
        rows: how many samples of vLLM to read; `None` for all.

    Raises:
        ConfigError: no sample of vLLM.
    """
    reader = _Metrics()
    imported = reader.imported
    whole = list(lines)
    if next((line for line in whole if line.strip()), "").lstrip().startswith("{"):
        whole = list(answer_lines("".join(whole)))
    for number, line in enumerate(whole, 1):
        if imported.rows == rows:
            break
        text = line.strip()
        if text.startswith("#"):
            reader.comment(text)
        elif text:
            reader.sample(number, text)
    if not imported.rows:
        raise ConfigError("", "has no metric of vLLM, must have lines such as vllm:num_requests_running 1.0")
    reader.finish()
    return imported


class _Metrics:
    def __init__(self) -> None:
        self.imported = Imported("prometheus", {})
        self._points: dict[tuple[str, tuple[tuple[str, str], ...]], list[list[Any]]] = {}
        self._histograms: dict[tuple[str, tuple[tuple[str, str], ...]], list[list[Any]]] = {}
        self._seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
        self._scrape = 0
        self._times: dict[int, None] = {}

    def comment(self, text: str) -> None:
        if text == "# EOF":
            self._next_scrape()

    def _next_scrape(self) -> None:
        if self._seen:
            self._scrape += 1
            self._seen = set()

    def sample(self, number: int, text: str) -> None:
        """Take a line that is no comment; those of other programs are passed over."""
        match = _SAMPLE.fullmatch(text)
        name = match[1] if match else text.split("{", 1)[0].split(" ", 1)[0]
        if not name.startswith(("vllm:", "vllm_")):
            return
        self.imported.rows += 1
        try:
            sample = _sample(name[5:], match, text)
        except ConfigError as error:
            self.imported.leave_out(number, str(error))
            return
        key = (sample.name, tuple(sorted(sample.labels.items())))
        if key in self._seen:
            self._next_scrape()
        self._seen.add(key)
        time = self._scrape if sample.time_us is None else sample.time_us
        if sample.time_us is not None:
            self._times[time] = None
        self._take(sample, time)

    def _take(self, sample: Sample, time: int) -> None:
        name = sample.name
        if name in _OF_V0:
            self.imported.note("v0")
        base, _, part = name.rpartition("_")
        base = ALIASES.get(base, base)
        value = int(sample.value) if sample.value.is_integer() and abs(sample.value) < 2**53 else sample.value
        labels = tuple(sorted(sample.labels.items()))
        if name in _INFO:
            self._configure(sample.labels)
        elif part in {"bucket", "sum", "count"} and base in HISTOGRAMS:
            if part != "bucket":
                self._points.setdefault((name, labels), []).append([time, value])
                return
            rest = tuple(pair for pair in labels if pair[0] != "le")
            buckets = self._histograms.setdefault((base, rest), [])
            bound = sample.labels.get("le", "")
            if any(bound == known[0] for known in buckets):
                buckets.clear()
            buckets.append([bound, value])
        elif part != "created":
            base = base if part == "total" else name
            base = ALIASES.get(base, base)
            if base in _PLAIN:
                self._points.setdefault((base, labels), []).append([time, value])
            elif base not in self.imported.unknown:
                self.imported.unknown.append(base)

    def _configure(self, labels: Mapping[str, str]) -> None:
        names = {"max_lora": "max_loras"} | {
            name: name for name in ("block_size", "num_gpu_blocks", "enable_prefix_caching")
        }
        for label, name in names.items():
            text = labels.get(label, "None")
            value: Any = {"True": True, "False": False}.get(
                text, int(text) if text.isdigit() and len(text) < 20 else None
            )
            if value is None or (label == "max_lora" and value == 0):
                continue
            try:
                self.imported.config[name] = _ROWS[name].check(value, label)
            except ConfigError as error:
                self.imported.note("cache_config", error=error)

    def finish(self) -> None:
        """Name the series, by the labels that tell them apart, and count their times from the first."""
        imported = self.imported
        keys = (*self._points, *self._histograms)
        same = {name for name in _OF_SERVER if len({dict(labels).get(name) for _, labels in keys}) == 1}
        model = next((dict(labels).get("model_name", "") for _, labels in keys), "")
        if model and "model_name" in same:
            imported.found["model"] = model
        first = min(self._times, default=0)
        for (name, labels), points in self._points.items():
            imported.series[_named(name, labels, same)] = [[time - first, value] for time, value in points]
        histograms = {_named(name, labels, same): found for (name, labels), found in self._histograms.items()}
        if histograms:
            imported.found["histograms"] = histograms
        if self._times:
            imported.unit = "us"
        else:
            imported.note("by_scrape")


def _named(name: str, labels: tuple[tuple[str, str], ...], same: set[str]) -> str:
    rest = [f'{key}="{value}"' for key, value in labels if key not in same]
    return f"{name}{{{','.join(rest)}}}" if rest else name


def _sample(name: str, match: re.Match[str] | None, text: str) -> Sample:
    if match is None:
        raise ConfigError("", f"{shown(text)} is no sample, must be name{{labels}} value")
    labels: dict[str, str] = {}
    at, source = 0, match[2] or ""
    while source[at:].strip():
        label = _LABEL.match(source, at)
        if label is None:
            raise ConfigError("", f'{shown(source[at:])} is no label, must be name="value"')
        labels[label[1]] = re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), label[2])
        at = label.end()
    try:
        value = float(match[3])
    except ValueError:
        raise ConfigError(name, f"{shown(match[3])} is not allowed, must be a number") from None
    if not isfinite(value):
        raise ConfigError(name, f"{match[3]} is no number to draw")
    return Sample(name, labels, value, _time_us(match[4]))


def _time_us(text: str | None) -> int | None:
    """Prometheus tells times in ms, OpenMetrics in seconds with a fraction."""
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not abs(number) <= MOST_TIME:
        raise ConfigError("", f"{shown(text)} is not allowed as a time, must be a number of seconds or ms")
    in_seconds = "." in text or abs(number) < 1e11
    return round(number * (1_000_000 if in_seconds else 1_000))


PROMETHEUS = Importer("prometheus", "metrics of vLLM, as its address /metrics gives them (text)", detect, read)
