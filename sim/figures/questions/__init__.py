"""Questions that come before an answer: what a reader may guess, what is right, and what each known mistake would say.

Only the build asks for them; the page's Python does not need them.
"""

from collections.abc import Sequence

from . import budget_questions, run_questions
from .draw import draw_question
from .question import Answer, Option, Question

QUESTIONS: Sequence[Question] = (*budget_questions.questions(), *run_questions.questions())
"""All questions, in the order in which a figure asks them."""

__all__ = ["QUESTIONS", "Answer", "Option", "Question", "draw_question"]
