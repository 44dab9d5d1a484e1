"""The prefix cache as a trace tells it: which block holds which tokens, from the ids that requests gained."""

from typing import Any

Json = dict[str, Any]
Token = tuple[str, int]


def tokens_of(spec: Json, known: int) -> list[Token]:
    """What each known token of a request is: equal pairs are equal tokens."""
    prompt: list[Token] = []
    for name, length in spec.get("prefix") or ():
        prompt += [(f"shared {name}", i) for i in range(length)]
    prompt = prompt[: spec["prompt_tokens"]]
    prompt += [(f"own {spec['id']}", i) for i in range(spec["prompt_tokens"] - len(prompt))]
    return prompt + [(f"output {spec['id']}", i) for i in range(known - len(prompt))]


class PrefixCache:
    """Contents of blocks, and who owns them.

    A content is a number: equal numbers are equal tokens after equal tokens, under the same adapter and images.
    """

    def __init__(self, block_size: int) -> None:
        self.block_size = block_size
        self._numbers: dict[tuple[object, ...], int] = {}
        self._chains: dict[str, list[int]] = {}
        self._content: dict[int, int] = {}
        self._blocks: dict[int, list[int]] = {}
        self._owners: dict[int, int] = {}

    def contents(self, spec: Json, known: int) -> list[int]:
        """The contents of the full blocks of the first `known` tokens of a request."""
        chain = self._chains.setdefault(spec["id"], [])
        size = self.block_size
        if len(chain) < known // size:
            tokens = tokens_of(spec, known)
            for start in range(len(chain) * size, known - size + 1, size):
                images = [
                    (image.get("hash", (spec["id"], i)), image["offset"] - start)
                    for i, image in enumerate(spec.get("images") or ())
                    if image["offset"] < start + size and image["offset"] + image["length"] > start
                ]
                parent = chain[-1] if chain else 0
                key = (parent, spec.get("lora") or 0, *images, *tokens[start : start + size])
                chain.append(self._numbers.setdefault(key, len(self._numbers) + 1))
        return chain[: known // size]

    def take(self, owned: list[int], gained: list[int], hits: int) -> None:
        """A request gains blocks; all but the first `hits` lose what they held."""
        for i, block in enumerate(gained):
            if i >= hits and block in self._content:
                self._blocks[self._content.pop(block)].remove(block)
            self._owners[block] = self._owners.get(block, 0) + 1
        owned += gained

    def give_up(self, owned: list[int]) -> None:
        """A request leaves its blocks; what they hold stays until somebody takes them."""
        for block in owned:
            self._owners[block] -= 1

    def fill(self, spec: Json, owned: list[int], num_tokens: int) -> None:
        """The first `num_tokens` of a request are computed, and known."""
        for block, content in zip(owned, self.contents(spec, num_tokens), strict=False):
            if block not in self._content:
                self._content[block] = content
                self._blocks.setdefault(content, []).append(block)

    def hits(self, spec: Json, known: int) -> tuple[int, int]:
        """Blocks that a request would find, all but its last token counted; how many of them nobody owns."""
        found = []
        for content in self.contents(spec, known - 1):
            if not self._blocks.get(content):
                break
            found.append(self._blocks[content][0])
        return len(found), sum(not self._owners.get(block) for block in found)
