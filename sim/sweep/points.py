"""What a sweep adds to points: replicas, and what tells one sweep from another."""

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import points
from ..points import Axis, Point, Result

REPLICA = "replica"
TIMES = ("arrival_step", "arrival_us", "abort_step")
"""What stays in its place when requests change theirs."""


def replicas(count: int) -> Axis:
    """The runs of each combination as an axis: `replica` 0, 1, ..."""
    return Axis(REPLICA, range(count))


def run_point(document: Mapping[str, Any], point: Point) -> Result:
    """One run; see `points.run_point`.

    Args:
        document: a scenario in the form of the contract.
        point: as there, and `replica`. Replica 0 is the scenario as it is; in the others the same arrivals get the
            requests in another order, by a generator seeded with the number.
    """
    requests = shuffled(document["requests"], int(point[REPLICA] or 0))
    settings = {key: value for key, value in point.items() if key != REPLICA}
    return points.run_point({**document, "requests": requests}, settings)


def shuffled(requests: Sequence[Mapping[str, Any]], replica: int) -> list[dict[str, Any]]:
    """The requests of a replica."""
    bodies = [{key: value for key, value in request.items() if key not in TIMES} for request in requests]
    if replica:
        random.Random(replica).shuffle(bodies)  # noqa: S311 - chance by a known seed
    times = [{key: value for key, value in request.items() if key in TIMES} for request in requests]
    return [body | time for body, time in zip(bodies, times, strict=True)]


def key_of(document: Mapping[str, Any], todo: Iterable[Point]) -> str:
    """What tells one sweep from another: a digest of its scenario and points."""
    text = json.dumps([document, list(todo)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
