"""The step that is looked at: queues, what happens in it, and in words what each request got, and why not more."""

from collections.abc import Sequence

from .events import events, told
from .html import element, escape, output
from .moments import Moment
from .reason_words import why_less, why_nothing
from .run import Run
from .timeline import chip
from .words import Words

LACKS_NOTHING = ("async_finishing", "beyond_prompt", "model_len")
"""Reasons of requests that are left out and would not take a token either."""
QUEUES = ("running", "waiting", "new", "preempted", "finished")


def panel(this: Run, step: int, words: Words) -> str:
    """Budget used, the queues after the step was planned, and who came, went or was preempted."""
    record = this.trace.steps[step]
    by_id = {moment.request_id: moment for moment in this.moments[step]}
    used = output("budget_used", this.used(step)) + escape(words("six-steps.of", budget=this.budget))
    lists: dict[str, Sequence[str]] = {name: getattr(record, name) for name in QUEUES}
    lists["new"] = (*record.new, *record.resumed)
    lines = [("budget", words.html("six-steps.budget"), used)]
    for name, ids in lists.items():
        chips = _queue([by_id[request_id] for request_id in ids], words)
        lines.append((name, words.html(_title(name, is_async=this.scenario.config.async_scheduling)), chips))
    rows = [
        element("div", {"class": f"line {name}"}, element("dt", None, title), element("dd", None, value))
        for name, title, value in lines
    ]
    happens = element("span", {"class": "events"}, escape(told(events(this, step), words)))
    title = element("p", {"class": "part-name"}, words.html("six-steps.step", step=step), " ", happens)
    return element("div", {"class": "panel", "data-part": "panel"}, title, element("dl", None, *rows))


def _title(name: str, *, is_async: bool) -> str:
    """The message over a queue. Under async scheduling, whoever computes its last token still runs in the next step."""
    if name == "preempted":
        return "schedule.preempted"
    return "schedule.last" if name == "finished" and is_async else f"six-steps.{name}"


def _queue(queue: Sequence[Moment], words: Words) -> str:
    if not queue:
        return element("span", {"class": "empty"}, escape(words("six-steps.empty")))
    return "".join(chip(moment) for moment in queue)


def why(this: Run, step: int, words: Words) -> str:
    """First who got nothing and why, then what each other request asked for and got, in scheduling order."""
    if step >= this.length:
        return element("span", {"class": "over"}, words.html("schedule.over", last=this.length - 1))
    nothing = [
        _about(moment, why_nothing(moment.request_id, moment.reason or {}, words), "nothing")
        for moment in this.left_out(step)
    ]
    got = [_about(moment, words_of(moment, words)) for moment in this.scheduled(step)]
    idle = this.budget - this.used(step)
    case = ("idle.wanted" if _is_wanted(this, step) else "idle") if idle else "full"
    end = words.html(f"six-steps.{case}", idle=idle, budget=this.budget)
    return "".join((*nothing, element("span", {"class": "got"}, words("sentence.join").join((*got, end)))))


def _is_wanted(this: Run, step: int) -> bool:
    """Whether somebody would take more tokens than the step gives: one that is left out, or that gets a part."""
    reasons = [moment.reason for moment in (*this.left_out(step), *this.scheduled(step))]
    return any(reason and reason["code"] not in LACKS_NOTHING for reason in reasons)


def _about(moment: Moment, sentence: str, kind: str | None = None) -> str:
    return element("span", {"class": kind, "data-request": moment.request_id}, sentence)


def words_of(moment: Moment, words: Words) -> str:
    """What a request asked for and got in a step, as a sentence."""
    values = {"id": moment.request_id, "got": moment.got, "missing": moment.missing}
    if moment.drafts:
        accepted = moment.drafts - moment.rejected
        drafted = values | {"drafts": moment.drafts, "accepted": accepted, "rejected": moment.rejected}
        return words.html("schedule.gets.drafts", **drafted)
    if moment.reason is not None:
        return why_less(moment, words)
    if moment.cached:
        return words.html("schedule.gets.cached", cached=moment.cached, **values)
    return words.html("schedule.gets.all", **values)
