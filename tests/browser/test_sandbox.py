"""Somebody at work in the sandbox: sets, types, walks through the steps, compares."""

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from sim.sandbox.controls import FIRST_CONFIG, REQUESTS
from tests.browser.sandboxes import FIRST, OpenPage, WaitReady, control, current, drawn, open_group, planned

NEXT_FRAME = "() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"

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


def test_what_vllm_refuses_has_a_way_out(sandbox: Locator):
    field = control(sandbox, "max_num_batched_tokens")
    field.fill("2")
    problem = sandbox.locator('[data-part="problem"]')
    expect(problem).to_contain_text("vLLM accepts it with: max_num_batched_tokens = 4")
    expect(sandbox.locator("section.findings")).to_be_hidden()
    problem.get_by_role("button", name="Use it").click()
    expect(field).to_have_value("4")
    expect(sandbox).to_have_attribute("data-state", "current")
    expect(problem).to_be_hidden()
    expect(sandbox.locator("section.findings")).to_be_visible()


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


def test_the_rows_of_the_build_are_those_of_the_script(fresh: Locator):
    rows = """(figure) => {
        const seen = (input) => [...["data-key", "type", "min", "max", "placeholder", "aria-label"]
            .map((name) => input.getAttribute(name)), input.value];
        return [...figure.form.querySelectorAll("[data-rows] tr")]
            .map((row) => [row.dataset.index, [...row.querySelectorAll("input")].map(seen)]);
    }"""
    built = fresh.evaluate(rows)
    put = """(figure, text) => {
        figure.form.elements.requests.value = text;
        figure.form.dispatchEvent(new Event("input", { bubbles: true }));
    }"""
    text = fresh.evaluate("(figure) => figure.form.elements.requests.value")
    fresh.evaluate(put, "[]")
    assert fresh.evaluate(rows) == []
    fresh.evaluate(put, text)
    assert len(built) > 1
    assert fresh.evaluate(rows) == built


def test_without_requests_there_is_no_step_to_look_at(sandbox: Locator):
    open_group(sandbox, "json")
    sandbox.locator("[data-scenario-text]").fill('{"requests": []}')
    expect(sandbox.locator(".above .outcome")).to_contain_text("0 steps")
    expect(control(sandbox, "step")).to_have_value("0")
    expect(sandbox.locator('output[data-for="step"]')).to_have_text("0")


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


def test_undo_takes_back_a_bad_text_and_redo_brings_it_again(fresh: Locator):
    undo, redo = fresh.locator('[data-history="-1"]'), fresh.locator('[data-history="1"]')
    field = control(fresh, "max_num_seqs")
    field.fill("2")
    expect(undo).to_be_enabled()
    open_group(fresh, "json")
    text, problem = fresh.locator("[data-scenario-text]"), fresh.locator("[data-json-problem]")
    expect(text).to_have_value(re.compile("requests"))
    good = text.input_value()
    text.fill(good + "}")
    expect(problem).to_be_visible()
    undo.click()
    expect(text).to_have_value(good)
    expect(problem).to_be_hidden()
    expect(field).to_have_value("2")
    redo.click()
    expect(text).to_have_value(good + "}")
    expect(problem).to_be_visible()
    undo.click()
    undo.click()
    expect(field).to_have_value("4")
    expect(undo).to_be_disabled()


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


@pytest.mark.parametrize("width", [1280, 390])
def test_the_timeline_follows_the_step(open_page: OpenPage, wait_ready: WaitReady, width: int):
    page = open_page("en/sandbox/", viewport={"width": width, "height": 800})
    figure = current(wait_ready(page))
    figure.get_by_role("button", name="Keep as baseline").click()
    expect(figure.locator(".under")).to_have_count(2)
    seen = """(box) => {
        const places = (selector) => [...box.querySelectorAll(selector)].map((one) => one.getBoundingClientRect());
        const left = Math.max(...places(".names").map((names) => names.right));
        const { right } = box.getBoundingClientRect();
        return places(".selected").every((band) => left <= band.left && band.right <= right);
    }"""
    timeline, step = figure.locator("#sandbox-timeline"), control(figure, "step")
    timeline.focus()
    for key, value, caption in (("End", "19", "Step 19"), ("ArrowLeft", "18", "Step 18"), ("Home", "0", "Step 0")):
        page.keyboard.press(key)
        expect(step).to_have_value(value)
        expect(figure.locator(".step h3")).to_contain_text(caption)
        expect(figure).to_have_attribute("data-state", "current")
        page.evaluate(NEXT_FRAME)
        assert timeline.evaluate(seen), key
    step.fill("19")
    expect(figure.locator(".step h3")).to_contain_text("Step 19")
    page.evaluate(NEXT_FRAME)
    assert timeline.evaluate(seen)
    assert timeline.evaluate("(box) => box.scrollLeft") > 0


def test_the_timeline_stays_where_it_was_scrolled_to(open_page: OpenPage, wait_ready: WaitReady):
    page = open_page("en/sandbox/?step=19", viewport={"width": 390, "height": 800})
    figure = current(wait_ready(page))
    timeline = figure.locator("#sandbox-timeline")
    expect(figure.locator(".step h3")).to_contain_text("Step 19")
    page.evaluate(NEXT_FRAME)
    assert timeline.evaluate("(box) => box.scrollLeft") > 0
    timeline.evaluate("(box) => { box.scrollLeft = 40; }")
    control(figure, "max_model_len").fill("128")
    expect(figure).to_have_attribute("data-state", "current")
    page.evaluate(NEXT_FRAME)
    assert timeline.evaluate("(box) => box.scrollLeft") == 40


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


# --- nothing is cut


def test_a_number_is_seen_whole(fresh: Locator):
    fresh.page.set_viewport_size({"width": 1400, "height": 900})
    table = fresh.locator("[data-rows]")
    open_group(fresh, "json")
    config = {"max_num_batched_tokens": 8192, "max_model_len": 131072, "num_gpu_blocks": 20000}
    request = {"id": "chatcmpl-0001-abcdef", "arrival_us": 73490634, "prompt_tokens": 131000, "output_tokens": 16}
    scenario = {"name": "long numbers", "config": config, "requests": [request]}
    fresh.locator("[data-scenario-text]").fill(json.dumps(scenario))
    expect(table.locator('[data-key="arrival_us"]')).to_have_value("73490634")
    widths = table.locator("input").evaluate_all(
        "all => all.filter((one) => one.value).map(({ dataset, scrollWidth, clientWidth }) =>"
        " [dataset.key, scrollWidth <= clientWidth])"
    )
    assert widths == [["id", True], ["arrival_us", True], ["prompt_tokens", True], ["output_tokens", True]]
    scroll = fresh.locator("#sandbox-requests-scroll")
    assert scroll.evaluate("one => one.scrollWidth > one.clientWidth")
    assert fresh.page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_step_numbers_and_names_of_fields_stay_in_one_line(sandbox: Locator):
    number = sandbox.locator(".transport output")
    step = number.bounding_box()
    assert step
    for text in ("292601", "9999999"):
        number.evaluate("(one, text) => { one.textContent = text; }", text)
        box = number.bounding_box()
        assert box
        assert box["height"] == step["height"]
        assert number.evaluate("one => one.scrollWidth <= one.clientWidth")
    open_group(sandbox, "json")
    requests = [{"id": f"a-request-with-a-long-name-{n}", "prompt_tokens": 9000, "output_tokens": 9} for n in range(2)]
    config = {"max_num_batched_tokens": 8192, "max_model_len": 16384, "num_gpu_blocks": 20000}
    sandbox.locator("[data-scenario-text]").fill(json.dumps({"name": "long", "config": config, "requests": requests}))
    head = sandbox.locator(".queue.running thead code")
    expect(head).to_have_text("num_computed_tokens")
    assert head.evaluate("one => one.getClientRects().length") == 1
    assert sandbox.locator(".step").evaluate("one => one.scrollWidth <= one.clientWidth")
