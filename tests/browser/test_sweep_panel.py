"""The panel of sweeps on a page of its own: point by point, cancelled, drawn, chosen by hand and by key."""

import json

import pytest
from playwright.sync_api import Page, expect

from build import FIGURE_CATALOGS, Pages, read_catalogs
from sim import page as python
from sim.figures.words import Words

SCENARIO = {
    "config": {"max_num_batched_tokens": 64, "max_num_seqs": 8, "max_model_len": 256},
    "requests": [{"id": f"r{i}", "arrival_step": i, "prompt_tokens": 40, "output_tokens": 9} for i in range(12)],
}
SHELL = """<!doctype html><html lang="en" data-language="en"><title>Sweep</title>
<link rel="stylesheet" href="{assets}/page.css"><link rel="stylesheet" href="{assets}/sweep.css">
<main><h1>Sweep</h1>{panel}</main>
<script type="module">
  import "./{assets}/sandbox-sweep.mjs";
  const panel = document.querySelector("sweep-panel");
  panel.call = async (message) => {{
    if (message.do === "sweep-point") await window.gate?.();
    const answer = JSON.parse(await window.ask(JSON.stringify(message)));
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer.result;
  }};
  panel.scenario = {scenario};
  panel.addEventListener("pick", (event) => {{ window.picked = event.detail.point; }});
</script></html>"""


@pytest.fixture
def panel(page: Page, tmp_path, monkeypatch, assets):
    """A page that holds the panel, with Python outside of the browser."""
    catalogs = read_catalogs(*FIGURE_CATALOGS)
    pages = Pages(tmp_path, catalogs)
    monkeypatch.setitem(python.WORDS, "en", Words("en", catalogs["en"]))
    html = pages.jinja.get_template("sweep-panel.html").render(words=pages.words["en"])
    page.expose_function("ask", python.handle)
    body = SHELL.format(assets=assets, panel=html, scenario=json.dumps(SCENARIO))
    page.route("**/sweep.html", lambda route: route.fulfill(body=body, content_type="text/html; charset=utf-8"))
    page.goto("sweep.html")
    expect(page.get_by_label("Values").first).to_have_value("16,32,64,128")
    return page


def run(page: Page) -> None:
    page.get_by_role("button", name="Run all").click()
    expect(page.locator("[data-say=done]")).to_be_visible()


def test_a_sweep_is_drawn_and_a_point_opens(panel, root):
    run(panel)
    expect(panel.locator("g.point")).to_have_count(16)
    expect(panel.locator("[data-say=done]")).to_have_text("All 16 points are finished.")
    panel.locator("g.point").first.focus()
    panel.keyboard.press("Enter")
    assert panel.evaluate("window.picked") == {"max_num_batched_tokens": 16, "max_num_seqs": 2}
    panel.get_by_role("button", name="Open this run: max_num_batched_tokens = 64, max_num_seqs = 8").click()
    assert panel.evaluate("window.picked") == {"max_num_batched_tokens": 64, "max_num_seqs": 8}
    expect(panel.locator("g.point[aria-current]")).to_have_count(1)
    assert panel.locator("[data-old]").is_hidden()
    panel.evaluate("document.querySelector('sweep-panel').scenario = {config: {}, requests: []}")
    expect(panel.locator("[data-old]")).to_be_visible()


def test_one_key_against_its_values(panel):
    panel.get_by_label("Key").nth(1).select_option("")
    panel.get_by_label("Key").first.select_option("enable_chunked_prefill")
    run(panel)
    panel.get_by_label("Across").select_option("varied")
    expect(panel.locator(".sweep-axis").last).to_have_text("enable_chunked_prefill")
    expect(panel.locator("[data-result] .sweep-left-out li")).to_have_count(1)


def test_cancel_keeps_what_is_finished(panel):
    panel.evaluate("""() => {
        let count = 0;
        window.gate = () => ++count <= 3 ? undefined : new Promise(() => {});
    }""")
    panel.get_by_role("button", name="Run all").click()
    expect(panel.locator("[data-say=running]")).to_contain_text("3 of 16")
    panel.get_by_role("button", name="Cancel").click()
    expect(panel.locator("g.point")).to_have_count(3)
    expect(panel.locator("[data-say=cancelled]")).to_be_visible()
    expect(panel.get_by_role("button", name="Run all")).to_be_enabled()


def test_what_cannot_be_run_is_told(panel):
    panel.get_by_label("Values").first.fill("0")
    panel.get_by_role("button", name="Run all").click()
    expect(panel.locator("[data-say=refused]")).to_have_text(
        "max_num_batched_tokens: 0 is not allowed, must be an integer from 1 to 10000000"
    )


def test_the_panel_is_accessible(panel, root):
    run(panel)
    panel.add_script_tag(path=root / "node_modules" / "axe-core" / "axe.min.js")
    found = panel.evaluate("axe.run().then(({violations}) => violations.map((each) => [each.id, each.nodes[0].html]))")
    assert found == []
