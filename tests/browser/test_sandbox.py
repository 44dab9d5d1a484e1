"""Somebody at work in the sandbox: sets, types, walks through the steps, compares, shares, saves."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from sim.engine import simulate
from sim.sandbox.controls import FIRST_CONFIG, REQUESTS
from sim.scenario import parse_scenario

OpenPage = Callable[..., Page]
WaitReady = Callable[..., Page]
FIRST = {"name": "sandbox", "config": FIRST_CONFIG, "requests": list(REQUESTS)}


@pytest.fixture(scope="module")
def live(browser: Browser, site_url: str) -> Iterator[Page]:
    """A sandbox whose engine is ready, shared by the tests of this file."""
    errors: list[str] = []
    with browser.new_page(viewport={"width": 1440, "height": 900}) as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{site_url}/en/sandbox/")
        expect(page.locator("html")).to_have_attribute("data-engine", "ready", timeout=60_000)
        yield page
    assert errors == []


@pytest.fixture
def sandbox(live: Page) -> Locator:
    """The shared sandbox, reset."""
    live.mouse.move(0, 0)
    figure = live.locator('batch-loom[figure="sandbox"]')
    figure.locator("[data-reset]").click()
    return current(live)


@pytest.fixture
def fresh(page: Page, wait_ready: WaitReady) -> Locator:
    """A sandbox of its own, for tests that leave its page or look at how it starts."""
    page.goto("en/sandbox/")
    return current(wait_ready(page))


def current(page: Page) -> Locator:
    """The figure, once its picture belongs to its controls."""
    figure = page.locator('batch-loom[figure="sandbox"]')
    expect(figure).to_have_attribute("data-state", "current")
    return figure


def control(figure: Locator, name: str) -> Locator:
    """A control of the form."""
    return figure.locator(f'[name="{name}"]:not(output)')


def drawn(figure: Locator) -> dict[int, dict[str, int]]:
    """Tokens by step and request, as the pieces of the timeline say."""
    pieces = figure.locator("g[data-tokens]").evaluate_all("list => list.map(({dataset}) => ({...dataset}))")
    steps: dict[int, dict[str, int]] = {}
    for piece in pieces:
        steps.setdefault(int(piece["step"]), {})[piece["request"]] = int(piece["tokens"])
    return steps


def planned(document: dict) -> dict[int, dict[str, int]]:
    """The same from the simulator."""
    return {step.step: dict(step.scheduled) for step in simulate(parse_scenario(document)).steps if step.scheduled}


def open_group(figure: Locator, name: str) -> Locator:
    """A group of the form, opened."""
    group = figure.locator(f"#sandbox-group-{name}")
    if group.get_attribute("open") is None:
        group.locator("summary").first.click()
    return group


# --- the scenario


def test_the_first_picture_is_that_of_the_simulator(sandbox: Locator):
    assert drawn(sandbox) == planned(FIRST)


def test_a_key_of_the_configuration_draws_another_run(sandbox: Locator):
    control(sandbox, "max_num_batched_tokens").fill("8")
    expect(sandbox).to_have_attribute("data-state", "current")
    assert drawn(sandbox) == planned(FIRST | {"config": FIRST_CONFIG | {"max_num_batched_tokens": 8}})


def test_a_bad_value_is_marked_and_the_last_good_picture_stays(sandbox: Locator):
    before = drawn(sandbox)
    for value, told in (("0", "max_num_batched_tokens"), ("2", "must be greater than or equal to max_num_seqs")):
        field = control(sandbox, "max_num_batched_tokens")
        field.fill(value)
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(sandbox.locator('[data-part="problem"]')).to_contain_text(told)
        expect(sandbox.locator('[data-control="max_num_batched_tokens"] .beside')).to_contain_text(told)
        assert drawn(sandbox) == before
        expect(field).to_have_value(value)
    field.fill("16")
    expect(sandbox.locator('[data-part="problem"]')).to_be_hidden()
    expect(sandbox.locator("[aria-invalid]")).to_have_count(0)
    expect(sandbox).to_have_attribute("data-state", "current")


def test_requests_are_edited_added_copied_moved_removed(sandbox: Locator):
    rows = sandbox.locator("[data-rows] tr")
    expect(rows).to_have_count(6)
    rows.nth(0).locator('[data-key="prompt_tokens"]').fill("5")
    rows.nth(5).locator('[data-act="remove"]').click()
    rows.nth(4).locator('[data-act="up"]').click()
    rows.nth(0).locator('[data-act="copy"]').click()
    sandbox.locator("[data-add]").click()
    expect(rows).to_have_count(7)
    expect(sandbox).to_have_attribute("data-state", "current")
    requests = json.loads(control(sandbox, "requests").input_value())
    assert [request["id"] for request in requests] == ["A", "F", "B", "C", "E", "D", "G"]
    assert requests[0]["prompt_tokens"] == requests[1]["prompt_tokens"] == 5
    assert drawn(sandbox) == planned(FIRST | {"requests": requests})


def test_a_bad_cell_is_marked(sandbox: Locator):
    cell = sandbox.locator("[data-rows] tr").nth(2).locator('[data-key="prefix"]')
    cell.fill("system 8")
    expect(cell).to_have_attribute("aria-invalid", "true")
    expect(sandbox.locator('[data-part="problem"]')).to_contain_text('requests[2].prefix: "system 8" is not allowed')
    cell.fill('[["system", 4]]')
    expect(cell).not_to_have_attribute("aria-invalid", "true")
    expect(sandbox).to_have_attribute("data-state", "current")


def test_text_and_form_stay_in_step(sandbox: Locator):
    open_group(sandbox, "json")
    text = sandbox.locator("[data-scenario-text]")
    expect(text).to_have_value(re.compile("requests"))
    assert json.loads(text.input_value()) == FIRST
    control(sandbox, "max_num_seqs").fill("3")
    expect(text).to_have_value(re.compile('"max_num_seqs": 3'))
    other = {
        "name": "mine",
        "config": {"max_num_batched_tokens": 256, "policy": "priority"},
        "requests": list(REQUESTS[:2]),
    }
    text.fill(json.dumps(other))
    expect(control(sandbox, "policy")).to_have_value("priority")
    expect(control(sandbox, "max_num_seqs")).to_have_value("128")
    expect(sandbox.locator("[data-rows] tr")).to_have_count(2)
    expect(sandbox).to_have_attribute("data-state", "current")
    assert drawn(sandbox) == planned(other)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("{", "JSON"),
        ('{"requests": []', "JSON"),
        ('{"requests": [{"id": "A"}]}', "requests[0].prompt_tokens: missing"),
        ('{"config": {"max_num_seq": 4}, "requests": []}', "max_num_seq"),
    ],
)
def test_a_bad_text_is_told_and_nothing_is_lost(sandbox: Locator, typed: str, told: str):
    before = drawn(sandbox)
    open_group(sandbox, "json")
    text = sandbox.locator("[data-scenario-text]")
    text.fill(typed)
    expect(sandbox.locator("[data-json-problem]")).to_contain_text(told)
    expect(text).to_have_value(typed)
    assert drawn(sandbox) == before


def test_undo_and_redo(fresh: Locator):
    undo, redo = fresh.locator('[data-history="-1"]'), fresh.locator('[data-history="1"]')
    expect(undo).to_be_disabled()
    field = control(fresh, "max_num_seqs")
    field.fill("2")
    expect(undo).to_be_enabled()
    fresh.locator("[data-rows] tr").nth(0).locator('[data-act="remove"]').click()
    undo.click()
    expect(fresh.locator("[data-rows] tr")).to_have_count(6)
    expect(field).to_have_value("2")
    undo.click()
    expect(field).to_have_value("4")
    expect(undo).to_be_disabled()
    redo.click()
    redo.click()
    expect(fresh.locator("[data-rows] tr")).to_have_count(5)
    expect(redo).to_be_disabled()
    expect(fresh).to_have_attribute("data-state", "current")


# --- the timeline and the step


def test_the_pointer_scrubs(sandbox: Locator):
    timeline = sandbox.locator("svg[data-scrub]")
    timeline.scroll_into_view_if_needed()
    box = timeline.bounding_box()
    assert box
    mouse, cell = sandbox.page.mouse, box["width"] / 24
    mouse.move(box["x"] + 2.5 * cell, box["y"] + 100)
    mouse.down()
    expect(control(sandbox, "step")).to_have_value("2")
    mouse.move(box["x"] + 9.5 * cell, box["y"] + 400, steps=4)
    expect(control(sandbox, "step")).to_have_value("9")
    mouse.up()
    mouse.move(box["x"] + 3.5 * cell, box["y"] + 100)
    expect(sandbox).to_have_attribute("data-state", "current")
    expect(sandbox.locator(".step h3")).to_contain_text("Step 9")


def test_keys_walk_and_find(sandbox: Locator):
    keys = sandbox.page.keyboard
    sandbox.locator("#sandbox-timeline").focus()
    keys.press("Home")
    step = control(sandbox, "step")
    expect(step).to_have_value("0")
    keys.press("ArrowRight")
    expect(step).to_have_value("1")
    keys.press("End")
    expect(step).to_have_value("19")
    keys.press("PageUp")
    expect(step).to_have_value("0")
    control(sandbox, "event").select_option("preemption")
    expect(sandbox).to_have_attribute("data-state", "current")
    sandbox.locator("#sandbox-timeline").focus()
    for expected in ("4", "11", "11"):
        keys.press("n")
        expect(step).to_have_value(expected)
        expect(sandbox).to_have_attribute("data-state", "current")
    keys.press("/")
    keys.type("D")
    expect(control(sandbox, "request")).to_have_value("D")
    expect(sandbox.locator(".marked")).to_have_count(1)


def test_the_step_says_who_got_nothing_and_why(sandbox: Locator):
    control(sandbox, "step").fill("4")
    expect(sandbox).to_have_attribute("data-state", "current")
    expect(sandbox.locator('output[name="budget_used"]')).to_have_attribute("data-value", "3")
    expect(sandbox.locator(".losses")).to_contain_text(
        "lost 13 computed tokens and came back in step 7: 12 were still cached, 1 are computed again."
    )
    waiting = sandbox.locator('.queue.waiting [data-request="D"]')
    expect(waiting.locator(".operands")).to_have_text("preempted: by D, needs 1, free 0")
    expect(waiting.locator("a")).to_have_attribute("href", re.compile(r"/v0\.33\.0/.*scheduler\.py#L972$"))
    expect(sandbox.locator('g[data-step="4"][data-request="D"]')).to_have_attribute("data-why", "preempted")
    expect(sandbox.locator('.queue.running tr[data-request="B"]')).to_contain_text("24 → 25 / 28")


def test_the_block_map_is_that_of_the_pool(sandbox: Locator):
    control(sandbox, "step").fill("4")
    expect(sandbox).to_have_attribute("data-state", "current")
    first = sandbox.locator('[data-block="1"]')
    expect(first).to_have_attribute("data-request", "A B C")
    expect(first).to_have_attribute("data-filled", "4")
    expect(sandbox.locator("[data-block]")).to_have_count(15)
    expect(sandbox.locator(".tile.is-free")).to_have_count(4)
    sandbox.locator("#sandbox-blocks summary").click()
    row = sandbox.locator("#sandbox-blocks tbody tr").first
    expect(row.locator("th, td")).to_have_text(["1", "A B C", "4", "3", "#1", "–"])


def test_many_steps_are_few_elements(sandbox: Locator):
    open_group(sandbox, "json")
    requests = [{"id": f"r{n}", "arrival_step": n, "prompt_tokens": 40, "output_tokens": 200} for n in range(60)]
    scenario = {"name": "many", "config": {"max_num_seqs": 8}, "requests": requests}
    sandbox.locator("[data-scenario-text]").fill(json.dumps(scenario))
    expect(sandbox.locator("[data-rows] tr")).to_have_count(50)
    control(sandbox, "columns").select_option("all")
    expect(sandbox).to_have_attribute("data-state", "current")
    assert sandbox.locator("svg[data-scrub] *").count() < 300
    expect(sandbox.locator("button.name")).to_have_count(24)
    control(sandbox, "row").fill("36")
    expect(sandbox.locator('button.name[data-request="r59"]')).to_have_count(1)
    control(sandbox, "request").fill("r3")
    expect(sandbox.locator("button.name").first).to_have_text("r3")


# --- compare


def test_a_baseline_stands_beside(sandbox: Locator):
    sandbox.get_by_role("button", name="Keep as baseline").click()
    expect(sandbox.locator(".compare")).to_contain_text("Both decide the same in all 20 steps.")
    control(sandbox, "num_gpu_blocks").fill("40")
    expect(sandbox.locator("[data-differs]")).to_have_attribute("data-differs", "4")
    expect(sandbox.locator("svg[data-scrub]")).to_have_count(2)
    compare = sandbox.locator(".compare")
    expect(compare).to_contain_text("num_gpu_blocks 16 → 40")
    row = sandbox.locator("section.numbers tr", has_text="preemptions").locator("td")
    expect(row).to_have_text(["0", "3", "−3"])
    sandbox.get_by_role("button", name="Swap with the baseline").click()
    expect(control(sandbox, "num_gpu_blocks")).to_have_value("16")
    expect(row).to_have_text(["3", "0", "+3"])
    sandbox.get_by_role("button", name="Drop the baseline").click()
    expect(sandbox.locator("svg[data-scrub]")).to_have_count(1)


# --- share and save


def test_the_address_holds_the_state(sandbox: Locator, open_page: OpenPage, wait_ready: WaitReady):
    control(sandbox, "max_num_batched_tokens").fill("8")
    control(sandbox, "step").fill("7")
    page = sandbox.page
    expect(page).to_have_url(re.compile("step=7&.*max_num_batched_tokens=8"))
    expect(sandbox).to_have_attribute("data-state", "current")
    picture = sandbox.locator('[data-part="result"]').inner_html()
    other = current(wait_ready(open_page(page.url)))
    assert other.locator('[data-part="result"]').inner_html() == picture


def test_a_long_state_is_packed(sandbox: Locator, open_page: OpenPage, wait_ready: WaitReady):
    open_group(sandbox, "json")
    requests = [{"id": f"request-{n}", "prompt_tokens": 7 + n, "output_tokens": 3} for n in range(60)]
    sandbox.locator("[data-scenario-text]").fill(json.dumps({"name": "long", "config": {}, "requests": requests}))
    page = sandbox.page
    expect(page).to_have_url(re.compile("#z=[A-Za-z0-9_-]+$"))
    other = current(wait_ready(open_page(page.url)))
    expect(other.locator("span[data-count]")).to_have_text("(60)")
    expect(control(other, "name")).to_have_value("long")
    assert drawn(other) == drawn(sandbox)


def test_a_step_beyond_the_first_picture_can_be_asked_for(page: Page, wait_ready: WaitReady):
    page.goto("en/sandbox/?max_num_batched_tokens=4&step=30")
    figure = current(wait_ready(page))
    expect(page.locator("[data-notices]")).to_be_hidden()
    expect(control(figure, "step")).to_have_value("30")
    expect(figure.locator(".step h3")).to_contain_text("Step 30")


@pytest.mark.parametrize("file_format", ["scenario", "trace", "perfetto", "svg", "png", "html"])
def test_files_are_saved(sandbox: Locator, file_format: str):
    with sandbox.page.expect_download() as waiting:
        sandbox.locator(f'[data-export="{file_format}"]').click()
    content = waiting.value.path().read_bytes()
    match file_format:
        case "scenario":
            assert json.loads(content) == FIRST
        case "trace":
            assert json.loads(content) == simulate(parse_scenario(FIRST)).to_json(explain=True)
        case "perfetto":
            assert json.loads(content)["traceEvents"]
        case "svg":
            assert b"steps 0 to 19" in content
            assert b"/en/sandbox/" in content
        case "png":
            assert content[:8] == b"\x89PNG\r\n\x1a\n"
        case _:
            assert b"<svg" in content


def test_tables_and_a_command_are_saved(sandbox: Locator):
    texts = {}
    for file_format in ("steps-csv", "requests-csv", "serve-command"):
        with sandbox.page.expect_download() as waiting:
            sandbox.locator(f'[data-export="{file_format}"]').click()
        texts[file_format] = waiting.value.path().read_text("utf-8")
    assert len(list(csv.reader(io.StringIO(texts["steps-csv"])))) == 21
    assert len(list(csv.reader(io.StringIO(texts["requests-csv"])))) == 7
    assert "--max-num-batched-tokens 16" in texts["serve-command"]


def test_an_imported_command_becomes_the_scenario(sandbox: Locator):
    page = sandbox.page
    page.locator("#import-paste").fill("vllm serve m --max-num-seqs 2 --max-num-batched-tokens 12 --block-size 4")
    page.get_by_role("button", name="Read this text").click()
    expect(control(sandbox, "max_num_seqs")).to_have_value("2", timeout=60_000)
    expect(control(sandbox, "max_num_batched_tokens")).to_have_value("12")


def test_a_file_dropped_anywhere_is_imported(sandbox: Locator):
    page = sandbox.page
    transfer = page.evaluate_handle(
        """(text) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([text], "scenario.json"));
            return transfer;
        }""",
        json.dumps(FIRST | {"name": "dropped", "requests": list(REQUESTS[:3])}),
    )
    sandbox.locator("#sandbox-timeline").dispatch_event("drop", {"dataTransfer": transfer})
    expect(sandbox.locator("[data-rows] tr")).to_have_count(3, timeout=60_000)
    expect(sandbox).to_have_attribute("data-state", "current")


def test_the_embed_is_live_on_first_use(page: Page, wait_ready: WaitReady):
    page.goto("zh/embed/sandbox/?max_num_batched_tokens=8")
    figure = current(wait_ready(page))
    expect(control(figure, "max_num_batched_tokens")).to_have_value("8")
    assert drawn(figure) == planned(FIRST | {"config": FIRST_CONFIG | {"max_num_batched_tokens": 8}})


def test_the_query_is_short(sandbox: Locator):
    control(sandbox, "max_num_seqs").fill("3")
    expect(sandbox.page).to_have_url(re.compile("max_num_seqs=3"))
    assert parse_qs(urlsplit(sandbox.page.url).query) == {"max_num_seqs": ["3"]}


# --- what is wrong


def test_a_finding_is_tried_at_once_and_taken_over(sandbox: Locator):
    finding = sandbox.locator("[data-finding]").first
    expect(finding.locator(".trial .outcome")).to_be_visible()
    change = json.loads(finding.locator(".take").get_attribute("data-set") or "")
    finding.locator(".jump").first.click()
    expect(control(sandbox, "step")).to_have_value("5")
    expect(finding.locator(".trial .outcome")).to_be_visible()
    finding.locator(".take").click()
    for name, value in change.items():
        expect(control(sandbox, name)).to_have_value(str(value))


def test_a_stalled_run_says_what_can_never_fit(page: Page, wait_ready: WaitReady):
    page.goto("en/sandbox/?scenario=never-fits")
    figure = current(wait_ready(page))
    expect(figure.locator("[data-outcome]")).to_have_attribute("data-outcome", "stalled")
    expect(figure.locator('[data-finding="never_fits"]')).to_be_visible()


def test_a_healthy_run_says_what_was_looked_for(page: Page, wait_ready: WaitReady):
    page.goto("en/sandbox/?scenario=six-steps")
    figure = current(wait_ready(page))
    expect(figure.locator(".healthy")).to_be_visible()
    expect(figure.locator("[data-finding]")).to_have_count(0)


# --- long runs, links, generated requests


def test_a_long_run_shows_its_progress_and_can_be_cancelled(sandbox: Locator):
    before = drawn(sandbox)
    open_group(sandbox, "json")
    requests = [{"id": f"r{n}", "prompt_tokens": 16, "output_tokens": 4000} for n in range(400)]
    config = {"max_num_seqs": 128, "enable_prefix_caching": True, "num_gpu_blocks": 100000}
    text = sandbox.locator("[data-scenario-text]")
    text.evaluate("(text, value) => { text.value = value; }", json.dumps({"config": config, "requests": requests}))
    text.press("End")
    text.press("Space")
    progress = sandbox.locator('[data-part="progress"]')
    expect(progress).to_be_visible()
    expect(sandbox).to_have_attribute("data-state", "busy")
    progress.get_by_role("button").click()
    expect(sandbox).to_have_attribute("data-state", "current")
    expect(progress).to_be_hidden()
    expect(control(sandbox, "max_num_seqs")).to_have_value("4")
    assert drawn(sandbox) == before


def test_a_broken_link_is_told(page: Page, wait_ready: WaitReady):
    page.goto("en/sandbox/#z=broken")
    figure = current(wait_ready(page))
    expect(page.locator("[data-notices]")).to_contain_text("The link is broken")
    assert drawn(figure) == planned(FIRST)


def test_the_language_link_keeps_the_state(fresh: Locator):
    control(fresh, "max_num_seqs").fill("3")
    page = fresh.page
    expect(page).to_have_url(re.compile("max_num_seqs=3"))
    page.get_by_role("link", name="中文").click()
    expect(page).to_have_url(re.compile(r"/zh/sandbox/\?max_num_seqs=3"))
    expect(control(page.locator("batch-loom"), "max_num_seqs")).to_have_value("3")


def test_requests_are_generated(sandbox: Locator):
    page = sandbox.page
    page.locator("#generate-count").fill("12")
    page.locator("#generate-prompt_tokens").fill("20")
    page.locator("#generate-prompt_max_tokens").fill("60")
    page.get_by_role("button", name="Generate", exact=True).click()
    expect(sandbox.locator("[data-rows] tr")).to_have_count(12)
    page.locator("#generate-prompt_max_tokens").fill("10")
    page.get_by_role("button", name="Generate", exact=True).click()
    expect(page.locator("[data-generate] [data-told]")).to_contain_text("prompt_max_tokens")


def test_a_point_of_a_sweep_opens_its_run(sandbox: Locator):
    panel = sandbox.page.locator("sweep-panel")
    panel.locator("fieldset").nth(0).locator("input").fill("8,16")
    panel.locator("fieldset").nth(1).locator("select").select_option("")
    panel.locator("[name=run]").click()
    points = panel.locator('g.point[role="button"]')
    expect(points).to_have_count(2)
    points.first.click()
    expect(control(sandbox, "max_num_batched_tokens")).to_have_value(re.compile("^(8|16)$"))
    expect(sandbox).to_have_attribute("data-state", "current")


def test_the_editor_takes_the_scenario(fresh: Locator):
    control(fresh, "max_num_seqs").fill("3")
    page = fresh.page
    page.get_by_role("link", name="Edit the scheduler").first.click()
    expect(page.locator("#edit-scenario")).to_have_value(re.compile('"max_num_seqs": 3'))
