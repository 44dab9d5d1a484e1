"""The block map: every physical block as a small frame with a tick for each of its slots."""

from collections.abc import Sequence

from .html import element, escape, output
from .run import Block, Run
from .svg import lane, tile
from .timeline import COLOURS
from .words import Words

TICK, GAP, TALL = 10, 3, 26
"""Width of a slot, room between slots, height, in units of a block's drawing."""
MINI = 14
"""From one block to the next in the small map under a column."""


def block_map(run: Run, step: int, words: Words) -> str:
    """All blocks after `step`, and how many of them are free."""
    blocks = run.blocks[step]
    ids = [request.id for request in run.scenario.requests]
    size = run.scenario.config.block_size
    free = run.trace.steps[step].free_blocks
    items = [_block(block, ids, size, run.trace.steps[step].preempted) for block in blocks]
    title = words.html("blocks.title", size=size)
    numbers = output("free_blocks", free) + escape(words("blocks.free", total=len(blocks)))
    picture = {"class": "blocks", "role": "img", "aria-label": _alt(run, step, words)}
    return element(
        "div",
        {"class": "memory", "data-part": "blocks"},
        element("p", {"class": "part-name"}, title, " ", element("span", {"class": "free"}, numbers)),
        element("div", picture, *items),
    )


def _block(block: Block, ids: Sequence[str], size: int, preempted: Sequence[str]) -> str:
    names = ["block"]
    if block.owners:
        names.append(f"r{block.owners[0] % COLOURS}")
    elif block.was is not None and (block.is_cached or ids[block.was] in preempted):
        names.append(f"r{block.was % COLOURS}")
    if not block.owners:
        names.append("is-free")
    names += [name for name, holds in (("is-new", block.is_new), ("is-cached", block.is_cached)) if holds]
    is_back = not block.owners and block.was is not None and ids[block.was] in preempted and not block.is_cached
    letters = "".join(ids[owner] for owner in block.owners)
    if is_back:
        names.append("is-back")
    data = {
        "class": " ".join(names),
        "data-block": block.number,
        "data-request": " ".join(ids[owner] for owner in block.owners) or None,
        "data-filled": block.tokens if block.owners or block.is_cached else 0,
    }
    label = element("b", None, escape(letters or ("↩" if is_back else "·")))
    number = element("span", None, escape(block.number))
    return element("div", data, _drawing(block, size), element("span", {"class": "tag"}, number, label))


def _drawing(block: Block, size: int) -> str:
    width = size * (TICK + GAP) + GAP
    filled = block.tokens if block.owners or block.is_cached else 0
    slot = f"h{TICK}v{TALL - 2 * GAP}h-{TICK}z"
    ticks = "".join(f"M{GAP + index * (TICK + GAP)} {GAP}{slot}" for index in range(filled))
    frame = element("rect", {"class": "shell", "width": width, "height": TALL, "rx": 4})
    mark = element("path", {"class": "ribbon", "d": f"M{width - 12} -2h9v13l-4 -4l-5 4z"}) if block.is_cached else ""
    inside = element("path", {"class": "slots", "d": ticks}) if ticks else ""
    return lane(frame, inside, mark, width=width, height=TALL, kind="kv")


def _alt(run: Run, step: int, words: Words) -> str:
    told = []
    for place, request in enumerate(run.scenario.requests):
        held = [str(block.number) for block in run.blocks[step] if place in block.owners]
        if held:
            told.append(words("blocks.alt.one", id=request.id, blocks=words("list.short").join(held)))
    free = run.trace.steps[step].free_blocks
    return words("blocks.alt", step=step, held=words("list.long").join(told) or "–", free=free)


def small_map(blocks: Sequence[Block], column: int, ids: Sequence[str]) -> str:
    """All blocks in the colour and with the mark of their owner, free ones hollow, for the foot of a column.

    Args:
        blocks: of one step.
        column: width of the column.
        ids: of the requests, by place.
    """
    per_row = min(len(blocks), (column - 16) // MINI)
    left = (column - per_row * MINI) // 2
    by_owners: dict[tuple[int, ...], list[str]] = {}
    for index, block in enumerate(blocks):
        row, place = divmod(index, per_row)
        at = left + place * MINI + 2, row * MINI + 14, 10
        by_owners.setdefault(block.owners, []).append(tile(block.owners[0] if block.owners else 0, *at))
    return "".join(_owned(owners, "".join(paths), ids) for owners, paths in by_owners.items())


def _owned(owners: tuple[int, ...], path: str, ids: Sequence[str]) -> str:
    if not owners:
        return element("path", {"class": "hollow", "d": path})
    who = " ".join(ids[owner] for owner in owners)
    return element("path", {"class": f"r{owners[0] % COLOURS} held", "data-request": who, "d": path})


def small_height(count: int, column: int) -> int:
    """Height of the small map of `count` blocks."""
    per_row = min(count, (column - 16) // MINI)
    return 18 + MINI * -(-count // per_row)
