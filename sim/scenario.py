"""A scenario: JSON in, checked once at the door; after it nothing is checked again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .config import Config, parse_config
from .errors import ConfigError
from .parameter import shown
from .parameters import MAX_REQUESTS, MAX_TOKENS, REQUEST, by_name

SCENARIO_KEYS = ("name", "config", "requests", "imported")
REQUEST_KEYS = ("id", *(parameter.name for parameter in REQUEST), "prefix", "accepts", "images")


@dataclass(frozen=True, slots=True)
class Image:
    """One encoder input: `length` tokens of the prompt from `offset` on; equal hashes share one encoder output."""

    offset: int
    length: int
    hash: str


@dataclass(frozen=True, slots=True)
class RequestSpec:
    """What is asked for, before anything has run. `index` is the place in the scenario's list."""

    id: str
    index: int
    prompt_tokens: int
    output_tokens: int
    arrival_step: int = 0
    arrival_us: int | None = None
    priority: int = 0
    lora: int | None = None
    abort_step: int | None = None
    prefix: tuple[tuple[str, int], ...] = ()
    accepts: tuple[int, ...] = ()
    images: tuple[Image, ...] = ()

    @property
    def arrival(self) -> tuple[int, int]:
        """When it arrives and, at the same moment, after how many others: the order of arrivals."""
        return (self.arrival_step if self.arrival_us is None else self.arrival_us, self.index)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A configuration and the requests that meet it, in list order."""

    name: str | None
    config: Config
    requests: tuple[RequestSpec, ...]

    @property
    def in_time(self) -> bool:
        """Whether the requests arrive in microseconds rather than in steps."""
        return bool(self.requests) and self.requests[0].arrival_us is not None

    def arrivals(self) -> list[RequestSpec]:
        """The requests in the order in which they arrive."""
        return sorted(self.requests, key=lambda spec: spec.arrival)

    def aborts(self) -> dict[int, list[str]]:
        """Who is aborted before which step, in the order of the steps."""
        aborts: dict[int, list[str]] = {}
        for spec in self.requests:
            if spec.abort_step is not None:
                aborts.setdefault(spec.abort_step, []).append(spec.id)
        return dict(sorted(aborts.items()))

    def warnings(self) -> list[str]:
        """What is traced as the bare scheduler does it, though a whole server would refuse it; and vLLM's warnings."""
        found = self.config.warnings()
        for request in self.requests:
            if request.prompt_tokens > self.config.max_model_len:
                found.append(
                    f"request {request.id}: prompt_tokens ({request.prompt_tokens}) exceeds max_model_len "
                    f"({self.config.max_model_len}); a server refuses it, the bare scheduler runs it."
                )
            for image in request.images:
                if image.offset + image.length > request.prompt_tokens:
                    found.append(
                        f"request {request.id}: an image of {image.length} tokens at {image.offset} reaches outside "
                        f"the prompt of {request.prompt_tokens}."
                    )
        return found


def parse_scenario(data: object) -> Scenario:
    """A `Scenario` from decoded JSON in the form of the contract.

    Args:
        data: what a JSON decoder returned.

    Raises:
        ConfigError: the first field that is wrong, by its path.
    """
    if not isinstance(data, Mapping):
        raise ConfigError("", "a scenario must be an object with config and requests")
    _known_keys(data, SCENARIO_KEYS, "")
    name = data.get("name")
    if name is not None and not isinstance(name, str):
        raise ConfigError("name", f"{shown(name)} is not allowed, must be a string")
    if "requests" not in data:
        raise ConfigError("requests", "missing, must be a list of requests")
    config = parse_config(data.get("config", {}))
    requests = data["requests"]
    if not isinstance(requests, list):
        raise ConfigError("requests", f"{shown(requests)} is not allowed, must be a list of requests")
    if len(requests) > MAX_REQUESTS:
        raise ConfigError("requests", f"{len(requests)} requests are too many, at most {MAX_REQUESTS} are allowed")
    specs = tuple(_request(item, index) for index, item in enumerate(requests))
    _check_together(specs)
    return Scenario(name, config, specs)


def _known_keys(data: Mapping[str, Any], known: tuple[str, ...], path: str) -> None:
    for key in data:
        if key not in known:
            raise ConfigError(f"{path}{key}", f"unknown key, must be one of {', '.join(known)}")


def _request(data: object, index: int) -> RequestSpec:
    path = f"requests[{index}]"
    if not isinstance(data, Mapping):
        raise ConfigError(path, f"{shown(data)} is not allowed, must be an object")
    _known_keys(data, REQUEST_KEYS, path + ".")
    request_id = data.get("id")
    if not isinstance(request_id, str) or not request_id:
        raise ConfigError(f"{path}.id", f"{shown(request_id)} is not allowed, must be a string that is not empty")
    rows = by_name(REQUEST)
    for needed in ("prompt_tokens", "output_tokens"):
        if needed not in data:
            raise ConfigError(f"{path}.{needed}", f"missing, must be {rows[needed].allowed()}")
    values: dict[str, Any] = {
        key: rows[key].check(value, f"{path}.{key}") for key, value in data.items() if key in rows
    }
    values["prefix"] = _prefix(data.get("prefix"), f"{path}.prefix")
    values["accepts"] = _accepts(data.get("accepts"), f"{path}.accepts")
    values["images"] = _images(data.get("images"), f"{path}.images", request_id)
    spec = RequestSpec(id=request_id, index=index, **values)
    if spec.arrival_us is None and spec.abort_step is not None and spec.abort_step < spec.arrival_step:
        raise ConfigError(f"{path}.abort_step", f"{spec.abort_step} is before the arrival at step {spec.arrival_step}")
    return spec


def _list(data: object, path: str, what: str) -> list[Any]:
    if data is None:
        return []
    if not isinstance(data, list):
        raise ConfigError(path, f"{shown(data)} is not allowed, must be a list of {what}")
    return data


def _integer(value: object, path: str, minimum: int, maximum: int = MAX_TOKENS) -> int:
    if type(value) is int and minimum <= value <= maximum:
        return value
    raise ConfigError(path, f"{shown(value)} is not allowed, must be an integer from {minimum} to {maximum}")


def _prefix(data: object, path: str) -> tuple[tuple[str, int], ...]:
    segments = []
    for i, item in enumerate(_list(data, path, "[segment name, tokens] pairs")):
        if not isinstance(item, list) or len(item) != 2 or not isinstance(item[0], str):
            raise ConfigError(f"{path}[{i}]", f"{shown(item)} is not allowed, must be a pair [segment name, tokens]")
        segments.append((item[0], _integer(item[1], f"{path}[{i}][1]", 0)))
    return tuple(segments)


def _accepts(data: object, path: str) -> tuple[int, ...]:
    return tuple(_integer(item, f"{path}[{i}]", 0) for i, item in enumerate(_list(data, path, "integers")))


def _images(data: object, path: str, request_id: str) -> tuple[Image, ...]:
    images = []
    for i, item in enumerate(_list(data, path, "images")):
        if not isinstance(item, Mapping):
            raise ConfigError(f"{path}[{i}]", f"{shown(item)} is not allowed, must be an object")
        _known_keys(item, ("offset", "length", "hash"), f"{path}[{i}].")
        name = item.get("hash")
        if name is not None and not isinstance(name, str | int):
            raise ConfigError(f"{path}[{i}].hash", f"{shown(name)} is not allowed, must be a string or an integer")
        images.append(
            Image(
                _integer(item.get("offset"), f"{path}[{i}].offset", 0),
                _integer(item.get("length"), f"{path}[{i}].length", 1),
                f"{request_id}#{i}" if name is None else str(name),
            )
        )
    return tuple(images)


def _check_together(specs: tuple[RequestSpec, ...]) -> None:
    seen: dict[str, int] = {}
    for spec in specs:
        if spec.id in seen:
            raise ConfigError(
                f"requests[{spec.index}].id", f"{shown(spec.id)} is taken by requests[{seen[spec.id]}], must be unique"
            )
        seen[spec.id] = spec.index
        if (spec.arrival_us is None) != (specs[0].arrival_us is None):
            raise ConfigError(
                f"requests[{spec.index}].arrival_us", "all requests must carry arrival_us, or none of them"
            )
