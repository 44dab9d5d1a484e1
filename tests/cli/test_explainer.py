"""The numbers of the explainer, as it was built, against what the command line says to the same scenarios."""

import itertools
import json
import re
from html.parser import HTMLParser

import pytest

from sim.figures.schedules import SCHEDULES
from sim.figures.starvation import ARRIVAL, LAST_STEP
from sim.figures.starvation import scenario as starvation
from sim.figures.traffic import BUDGETS
from sim.figures.traffic import scenario as traffic
from sim.parameters import CONFIG, by_name
from sim.scenario import parse_scenario

LANGUAGES = ("en", "zh")
PARAMETERS = by_name(CONFIG)
BY_NAME = {schedule.name: schedule for schedule in SCHEDULES}


class Figures(HTMLParser):
    """The elements of each figure of a page: name, attributes, and the text up to the next element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, list[tuple[str, dict, list[str]]]] = {}
        self.name = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        data = dict(attrs)
        if tag == "batch-loom":
            self.name = data["figure"]
            self.found[self.name] = []
        elif self.name:
            self.found[self.name].append((tag, data, []))

    def handle_endtag(self, tag):
        if tag == "batch-loom":
            self.name = ""

    def handle_data(self, data):
        if self.name and self.found[self.name]:
            self.found[self.name][-1][2].append(data)

    def with_data(self, name: str, *keys: str) -> list[tuple[str, ...]]:
        names = [f"data-{key}" for key in keys]
        every = (attributes for _, attributes, _ in self.found[name])
        return [tuple(data[key] for key in names) for data in every if all(key in data for key in names)]

    def outputs(self, name: str) -> dict[str, str]:
        every = (attributes for tag, attributes, _ in self.found[name] if tag == "output" and "name" in attributes)
        return {data["name"]: data["data-value"] for data in every}

    def texts(self, name: str, tag: str) -> list[str]:
        return ["".join(text).strip() for found, _, text in self.found[name] if found == tag]


@pytest.fixture(scope="module", params=LANGUAGES)
def page(request, site_dir) -> Figures:
    return Figures((site_dir / request.param / "index.html").read_text("utf-8"))


def scenario(name: str, **changes) -> bytes:
    schedule = BY_NAME[name]
    controls = {parameter.name: parameter.default for parameter in schedule.controls}
    config = {**schedule.config, **controls, **changes}
    return json.dumps({"name": name, "config": config, "requests": list(schedule.requests)}).encode()


def trace(cli, name: str, **changes) -> list[dict]:
    (value,) = cli("trace", "--explain", "-", stdin=scenario(name, **changes)).values
    assert value["outcome"] == "finished"
    return value["steps"]


@pytest.mark.parametrize("name", BY_NAME)
def test_timelines_are_what_the_command_line_traces(cli, page, name):
    steps = trace(cli, name)
    given = [(str(step["step"]), rid, str(got)) for step in steps for rid, got in step["scheduled"].items()]
    left = [(str(step["step"]), rid, why["code"]) for step in steps for rid, why in step["why"].items()]
    assert sorted(page.with_data(name, "step", "request", "tokens")) == sorted(given)
    assert sorted(page.with_data(name, "step", "request", "why")) == sorted(left)
    key = steps[BY_NAME[name].key_step]
    assert page.outputs(name)["budget_used"] == str(sum(key["scheduled"].values()))
    if "free_blocks" in page.outputs(name):
        assert page.outputs(name)["free_blocks"] == str(key["free_blocks"])
    counted = {
        data["data-request"]: data["data-value"]
        for _, data, _ in page.found[name]
        if data.get("name") == "num_computed_tokens"
    }
    assert counted.items() >= {rid: str(number) for rid, number in key["computed"].items()}.items()


def test_trade_off_is_what_the_command_line_sums_up(cli, page):
    told = page.texts("tradeoff", "td")
    assert len(told) == 6 * len(BUDGETS)
    for row, budget in enumerate(BUDGETS):
        (summary,) = cli("summary", "--json", "-", stdin=json.dumps(traffic(budget, 24)).encode()).values
        times = [summary[name][rank] for name in ("ttft_us", "itl_us") for rank in ("p50", "p99")]
        rate = summary["generated_tokens"] * 1_000_000 // summary["duration_us"]
        shown = [f"{time // 1000}.{time % 1000 // 100}" for time in times]
        assert told[6 * row : 6 * row + 6] == [*shown, str(rate), str(summary["steps"])]


def test_starved_prompt_is_what_the_command_line_traces(cli, page):
    values = {"D": 16, "B": 32, "M": 32, "S": 16, "K": 0}
    (value,) = cli(
        "trace", "--explain", "--max-steps", LAST_STEP, "-", stdin=json.dumps(starvation(values)).encode()
    ).values
    step = value["steps"][ARRIVAL]
    assert step["why"] == {"P": {"code": "token_budget", "budget": 16, "used": 16}}
    assert sum(step["scheduled"].values()) == 16
    assert all("P" not in later["scheduled"] for later in value["steps"])
    told = page.outputs("starvation")
    assert (told["decode"], told["prefill"], told["idle"], told["steps"]) == ("16", "0", "0", "never")


def test_vllm_refuses_group_b_as_written(cli):
    (value,) = cli(
        "trace", "-", stdin=b'{"config": {"max_num_batched_tokens": 16, "max_num_seqs": 32}, "requests": []}'
    ).values
    assert value["error"] == "ValidationError"


# --- what the text says


def first_tokens(steps: list[dict]) -> dict[str, int]:
    """The step that gave each request its first token."""
    found: dict[str, int] = {}
    for step in steps:
        for request_id in step["generated"]:
            found.setdefault(request_id, step["step"])
    return found


def test_long_prompt_capped_and_not(cli):
    capped, free = (first_tokens(trace(cli, "long-prefill", long_prefill_token_threshold=n)) for n in (4, 0))
    assert {rid: capped[rid] - free[rid] for rid in "ABC"} == {"A": 2, "B": -2, "C": -1}


def test_urgent_request_waits_less(cli):
    starts = [
        next(step["step"] for step in trace(cli, "priority", policy=policy) if "D" in step["new"])
        for policy in ("priority", "fcfs")
    ]
    assert starts[1] - starts[0] == 2


def test_without_drafts_it_takes_nine_steps(cli):
    assert len(trace(cli, "speculation", num_speculative_tokens=0)) == 9


def test_a_cache_of_twelve_does_not_stop_b_in_t1(cli):
    steps = [trace(cli, "encoder", encoder_cache_size=size)[1] for size in (8, 12)]
    assert [step["scheduled"]["B"] for step in steps] == [1, 4]
    assert steps[0]["capped"] == {"B": {"code": "encoder_cache", "wanted": 6, "got": 1}}


def test_all_figures_but_one_run_without_async_scheduling():
    ways = {name: parse_scenario(json.loads(scenario(name))).config.async_scheduling for name in BY_NAME}
    assert [name for name, way in ways.items() if way] == ["async"]
    others = (starvation({"D": 16, "B": 32, "M": 32, "S": 16, "K": 0}), traffic(BUDGETS[0], 24))
    assert not any(parse_scenario(one).config.async_scheduling for one in others)


def test_victim_computes_prompt_and_answer_again(cli):
    steps = trace(cli, "preemption")
    assert steps[3]["preempted"] == ["B"]
    assert sum(step["generated"].get("B", 0) for step in steps[:3]) == 2
    assert [step["scheduled"]["B"] for step in steps[5:7]] == [10, 1]
    assert all(not step["preempted"] for step in trace(cli, "preemption", num_gpu_blocks=9))


@pytest.mark.parametrize(("prompts", "expected"), [([8191], 200), ([1024] * 7 + [1023], 174), ([64] * 127 + [63], 170)])
def test_a_decode_waits_for_the_prompts_beside_it(cli, prompts, expected):
    """With 8,192 tokens a step takes 170 ms and more, whatever prompts they belong to; a decode alone takes 5."""
    requests = [{"id": "A", "arrival_us": 0, "prompt_tokens": 1, "output_tokens": 9}]
    requests += [
        {"id": f"P{place}", "arrival_us": 9000, "prompt_tokens": tokens, "output_tokens": 1}
        for place, tokens in enumerate(prompts)
    ]
    config = {"max_num_batched_tokens": 8192, "max_model_len": 9000, "max_num_seqs": 256}
    (value,) = cli("trace", "-", stdin=json.dumps({"config": config, "requests": requests}).encode()).values
    times = {sum(step["scheduled"].values()): round(step["step_us"] / 1000) for step in value["steps"]}
    assert times == {1: 5, 8192: expected}


def test_knobs_are_those_of_the_parameter_table(site_dir):
    """Each row of Table 2 has the default of its row of the parameter table, also of those that follow another."""
    for language in LANGUAGES:
        page = (site_dir / language / "index.html").read_text("utf-8")
        cells = [re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<td>((?:= )?<.*?)</td>", page)]
        rows = {name: value for name, value in itertools.pairwise(cells) if name in PARAMETERS}
        assert len(rows) == 11
        for name, value in rows.items():
            row = PARAMETERS[name]
            assert value == (f"= {row.none_means}" if row.default is None else str(row.default))
