"""All points of a sweep: with joblib on the cores of this machine, with Dask beyond it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from joblib import Parallel, delayed

from ..errors import ConfigError
from ..parameter import shown
from ..points import Point, Result
from .points import run_point
from .progress import Progress


def sweep(
    document: Mapping[str, Any],
    points: Sequence[Point],
    progress: Progress,
    *,
    jobs: int = -1,
    dask: str | None = None,
    report: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Run all points that are not done yet.

    Args:
        document: the scenario.
        points: from `points_of`.
        progress: points that are done already, and where new ones are kept as soon as they are there.
        jobs: processes on this machine, -1 for one a core.
        dask: address of a Dask scheduler whose workers run the points instead; they need this package.
        report: called with the number of points done and of all, at the start and after each.

    Returns:
        The results in the order of the points.
    """
    todo = [(index, point) for index, point in enumerate(points) if index not in progress.done]
    results = _here(document, todo, jobs) if dask is None else _beyond(document, todo, dask)
    if report:
        report(len(progress.done), len(points))
    for index, result in results:
        progress.add(index, result)
        if report:
            report(len(progress.done), len(points))
    return [progress.done[index] for index in range(len(points))]


def _indexed(document: Mapping[str, Any], index: int, point: Point) -> tuple[int, Result]:
    return index, run_point(document, point)


Todo = Sequence[tuple[int, Point]]


def _here(document: Mapping[str, Any], todo: Todo, jobs: int) -> Iterable[tuple[int, Result]]:
    # In no particular order and one by one: each is kept as soon as it is there.
    run = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    found: Iterable[tuple[int, Result]] = run(delayed(_indexed)(document, index, point) for index, point in todo)
    return found


def _beyond(document: Mapping[str, Any], todo: Todo, address: str) -> Iterator[tuple[int, Result]]:
    try:
        from distributed import Client, as_completed  # noqa: PLC0415 - only sweeps beyond one machine need it
    except ImportError:
        raise ConfigError("--dask", "needs the package distributed: pip install distributed") from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise ConfigError("--dask", f"no cluster answers at {shown(address)}: {error}") from None
    with client:
        # A list of one: a mapping would be taken apart.
        (shared,) = client.scatter([document], broadcast=True)
        futures = [client.submit(_indexed, shared, index, point, pure=False) for index, point in todo]
        for _, found in as_completed(futures, with_results=True):
            yield found
