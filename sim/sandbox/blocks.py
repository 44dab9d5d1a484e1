"""The block map of a step: each physical block with owner, filled tokens, reference count, hash, place in the queue."""

from collections.abc import Sequence

from ..figures.html import Cell, element, escape, table
from ..figures.timeline import COLOURS
from ..figures.words import Words
from .pool import Block, Pool
from .run import Run

WHOLE = 132
"""Blocks of a pool that is drawn whole. Of a larger one:"""
HELD, FREE = 400, 44
"""so many that are held, and so many that are free, in the order in which they would be taken."""
SIDE, GAP = 24, 4
"""Side of a block and room between two, in pixels."""
PER_ROW = 22


def block_map(run: Run, pool: Pool, step: int, words: Words) -> str:
    """The drawing, and the same as a table."""
    shown = _shown(pool.blocks)
    size = run.scenario.config.block_size
    head = words.html("sandbox.blocks", size=size, free=sum(block.place is not None for block in pool.blocks))
    parts = [element("h3", None, head), element("p", {"class": "quiet"}, words.html("sandbox.blocks.how"))]
    box = min(len(shown), PER_ROW) * (SIDE + GAP), -(-len(shown) // PER_ROW) * (SIDE + GAP)
    tiles = [_tile(block, index, run, size, words) for index, block in enumerate(shown)]
    alt = words("sandbox.blocks.alt", step=step, held=sum(block.ref_cnt > 0 for block in pool.blocks))
    data = {"viewBox": f"-2 -2 {box[0] + 4} {box[1] + 4}", "class": "pool", "role": "img", "aria-label": alt}
    parts.append(element("svg", data | {"width": box[0] + 4, "height": box[1] + 4}, *tiles))
    left = len(pool.blocks) - len(shown)
    if left:
        parts.append(element("p", {"class": "quiet"}, words.html("sandbox.blocks.more", n=left)))
    names = ("block", "owner", "filled", "references", "hash", "place")
    heads = [words.plain(f"sandbox.blocks.{name}") for name in names]
    lines = [_line(block) for block in sorted(shown)]
    parts.append(table("sandbox-blocks", words("sandbox.blocks.table"), heads, lines))
    return "".join(parts)


def _shown(blocks: Sequence[Block]) -> list[Block]:
    if len(blocks) <= WHOLE:
        return list(blocks)
    held = [block for block in blocks if block.place is None]
    free = sorted((block for block in blocks if block.place is not None), key=_place)
    return held[:HELD] + free[:FREE]


def _place(block: Block) -> int:
    return block.place or 0


def _line(block: Block) -> list[object]:
    owners: object = " ".join(block.owners) or "–"
    if block.owners:
        owners = Cell(owners, " ".join(block.owners))
    known = "–" if block.block_hash is None else f"#{block.block_hash}"
    return [block.number, owners, block.num_filled, block.ref_cnt, known, "–" if block.place is None else block.place]


def _tile(block: Block, index: int, run: Run, size: int, words: Words) -> str:
    """A square that is filled from below as far as the block is, with a corner when its prefix is known."""
    row, column = divmod(index, PER_ROW)
    x, y = column * (SIDE + GAP), row * (SIDE + GAP)
    names, parts = ["tile"], []
    if block.owners:
        names.append(f"r{run.lanes.places[block.owners[0]] % COLOURS}")
    else:
        names.append("is-free")
    tall = -(-block.num_filled * SIDE // size)
    if tall:
        parts.append(f'<path class="filled" d="M{x} {y + SIDE - tall}h{SIDE}v{tall}h-{SIDE}z"></path>')
    parts.append(f'<path class="shell" d="M{x} {y}h{SIDE}v{SIDE}h-{SIDE}z"></path>')
    if block.block_hash is not None:
        parts.append(f'<path class="known" d="M{x + SIDE} {y}v8l-8 -8z"></path>')
    if block.ref_cnt > 1:
        parts.append(
            f'<text class="amount" x="{x + SIDE // 2}" y="{y + 17}" text-anchor="middle">{block.ref_cnt}</text>'
        )
    data = {"class": " ".join(names), "data-block": block.number, "data-filled": block.num_filled}
    data |= {"data-request": " ".join(block.owners) or None}
    owner = " ".join(block.owners) or words("sandbox.blocks.free")
    title = words("sandbox.blocks.title", block=str(block.number), owner=owner, filled=block.num_filled, size=size)
    return element("g", data, element("title", None, escape(title)), *parts)
