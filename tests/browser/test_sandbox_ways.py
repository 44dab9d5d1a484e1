"""Ways into the sandbox and out of it: links, files, generated requests, sweeps, the editor; and what it finds."""

import csv
import io
import json
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from sim.engine import simulate
from sim.sandbox.controls import FIRST_CONFIG, REQUESTS
from sim.scenario import parse_scenario
from tests.browser.sandboxes import FIRST, control, current, drawn, open_group, planned

OpenPage = Callable[..., Page]
WaitReady = Callable[..., Page]


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
    # It is tried on the requests that are there.
    expect(sandbox.locator("[data-rows] tr")).to_have_count(len(REQUESTS))


def test_what_two_sources_tell_of_one_server_is_put_together(sandbox: Locator):
    paste, read = sandbox.page.locator("#import-paste"), sandbox.page.get_by_role("button", name="Read this text")
    paste.fill("vllm serve m --max-num-seqs 2 --max-model-len 4096 --block-size 32")
    read.click()
    expect(control(sandbox, "max_num_seqs")).to_have_value("2", timeout=60_000)
    paste.fill("(EngineCore pid=7) INFO 12-01 10:00:00 [kv_cache_utils.py:1711] GPU KV cache size: 93,872 tokens")
    read.click()
    expect(control(sandbox, "num_gpu_blocks")).to_have_value("5867", timeout=60_000)
    expect(control(sandbox, "max_num_seqs")).to_have_value("2")
    # Of two command lines the second counts alone.
    paste.fill("vllm serve m --max-num-batched-tokens 512")
    read.click()
    expect(control(sandbox, "max_num_batched_tokens")).to_have_value("512", timeout=60_000)
    expect(control(sandbox, "max_num_seqs")).to_have_value("128")
    expect(control(sandbox, "num_gpu_blocks")).to_have_value("5867")
    expect(sandbox.locator("[data-rows] tr")).to_have_count(len(REQUESTS))


def test_imported_requests_run_under_the_configuration_that_is_there(fresh: Locator):
    page = fresh.page
    rows = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n2023-11-16 18:15:50.99,396,109\n"
    read = page.get_by_role("button", name="Read this text")
    # Prompts of this length have no room in the scenario that the page starts with.
    page.locator("#import-paste").fill(rows)
    read.click()
    expect(control(fresh, "max_model_len")).to_have_value("32768", timeout=60_000)
    control(fresh, "max_num_batched_tokens").fill("2048")
    page.locator("#import-paste").fill(rows.replace("374", "375"))
    read.click()
    expect(control(fresh, "requests")).to_have_value(re.compile('"prompt_tokens": ?375'), timeout=60_000)
    expect(control(fresh, "max_num_batched_tokens")).to_have_value("2048")


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
    batched = control(sandbox, "max_num_batched_tokens").input_value()
    expect(panel.locator("[data-picked]")).to_contain_text(f"vllm serve MODEL --max-num-batched-tokens {batched} ")
    # The result is of this scenario too, until it is another one.
    panel.locator("[name=run]").focus()
    expect(panel.locator("[data-old]")).to_be_hidden()
    control(sandbox, "max_num_seqs").fill("3")
    expect(panel.locator("[data-old]")).to_be_visible()


def test_a_sweep_lets_requests_come_faster(sandbox: Locator):
    panel = sandbox.page.locator("sweep-panel")
    key, values = panel.locator("fieldset").nth(0).locator("select"), panel.locator("fieldset").nth(0).locator("input")
    panel.locator("fieldset").nth(1).locator("select").select_option("")
    key.select_option("rate")
    expect(values).to_have_value("1,2,4,8")
    arrivals = [request.get("arrival_step", 0) for request in json.loads(control(sandbox, "requests").input_value())]
    values.fill("1,3")
    panel.locator("[name=run]").click()
    panel.get_by_role("button", name="Open this run: rate = 3").first.click()
    expect(sandbox).to_have_attribute("data-state", "current")
    expect(control(sandbox, "requests")).not_to_have_value(re.compile('"arrival_step": ?6'))
    faster = [request.get("arrival_step", 0) for request in json.loads(control(sandbox, "requests").input_value())]
    assert faster == [arrival // 3 for arrival in arrivals]
    assert max(arrivals) == 6


def test_the_editor_takes_the_scenario(fresh: Locator, wait_ready: WaitReady):
    control(fresh, "max_num_seqs").fill("3")
    page = fresh.page
    page.get_by_role("link", name="Edit the scheduler").first.click()
    scenario = page.locator("#edit-scenario")
    expect(scenario).to_have_value(re.compile('"max_num_seqs": 3'))
    scenario.fill(scenario.input_value().replace('"max_num_seqs": 3', '"max_num_seqs": 2'))
    page.get_by_role("contentinfo").get_by_role("link", name="Sandbox").click()
    expect(control(current(wait_ready(page)), "max_num_seqs")).to_have_value("2")
