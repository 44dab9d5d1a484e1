"""Reasons in words: one message per code, filled with its operands."""

from collections.abc import Mapping

from ..reasons import Reason
from .moments import Moment
from .words import Words


def why_nothing(request_id: str, reason: Reason, words: Words) -> str:
    """A sentence: why `request_id` got no tokens in a step."""
    code = str(reason["code"])
    if code == "preempted" and reason["by"] == request_id:
        code = "preempted.self"
    if code == "kv_blocks" and reason["watermark"]:
        code = "kv_blocks.watermark"
    return words.html(f"reason.{code}", id=request_id, **_told(reason, words))


def why_less(moment: Moment, words: Words) -> str:
    """A sentence: why the request got fewer tokens than it asked for."""
    assert moment.reason is not None
    values = {"id": moment.request_id, "got": moment.got, "missing": moment.missing + moment.drafts}
    return words.html(f"capped.{moment.reason['code']}", **values)


def _told(reason: Reason, words: Words) -> Mapping[str, object]:
    join = words("list.and")
    return {name: join.join(value) if isinstance(value, list) else value for name, value in reason.items()}
