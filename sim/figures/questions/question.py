"""What a question is. Nothing in it is written down: what is right and what is wrong is computed with the figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...parameters import Value

Answer = int | str
"""A number, or the name of an option."""


@dataclass(frozen=True, slots=True)
class Option:
    """One of several answers.

    Args:
        name: what is guessed, such as the id of a request or of a step; also its place in `Question.mistakes`.
        label: what stands on its button: text as it is (the name of a request, a step, a number); empty for words
            from the catalogue, `question.NAME.option.OPTION`.
        amount: its length on the axis that all options share, told by `question.NAME.fact`; `None` where nothing is
            counted.
    """

    name: str
    label: str = ""
    amount: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a figure.

    Args:
        name: its messages are `question.NAME.ask`, `.because`, and `.wrong.MISTAKE` for each mistake.
        figure: which figure asks it.
        right: the answer.
        mistakes: answers that stand for a known misconception, by its name; the first of two equal ones counts.
        shows: values of the figure's controls under which its picture shows the answer.
        values: what the messages fill in.
        options: the answers to choose from; none where a number is asked for.
        lowest, highest: ends of the axis on which a number is guessed.
    """

    name: str
    figure: str
    right: Answer
    mistakes: Mapping[str, Answer]
    shows: Mapping[str, Value]
    values: Mapping[str, object] = field(default_factory=dict)
    options: Sequence[Option] = ()
    lowest: int = 0
    highest: int = 0

    @property
    def answers(self) -> list[Answer]:
        """All that can be answered, in order."""
        return [option.name for option in self.options] or list(range(self.lowest, self.highest + 1))

    def verdicts(self) -> dict[Answer, str]:
        """The message for each answer that has one of its own."""
        told: dict[Answer, str] = {}
        for mistake, answer in self.mistakes.items():
            told.setdefault(answer, f"question.{self.name}.wrong.{mistake}")
        return told
