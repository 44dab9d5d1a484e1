"""The editor of the scheduler: an edit is run on a scenario and on recorded traces, and ended when it never returns."""

import json

import pytest
from playwright.sync_api import Page, expect

START_MS = 60_000


@pytest.fixture
def editor(page: Page) -> Page:
    """The English page, its editor open."""
    return opened(page)


def opened(page: Page, language: str = "en") -> Page:
    page.goto(f"{language}/sandbox/scheduler/")
    expect(page.locator("scheduler-editor")).to_have_attribute("data-state", "ready")
    return page


def replace(page: Page, found: str, text: str) -> None:
    """Searches with the keyboard, as in any editor, and types over what was found."""
    page.locator("[data-code] .cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+f")
    page.keyboard.type(found)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.insert_text(text)


def run(page: Page, state: str) -> None:
    page.get_by_role("button", name="Run").click()
    expect(page.locator("scheduler-editor")).to_have_attribute("data-state", state, timeout=START_MS)


def test_an_edit_is_run_shown_and_taken_back(editor):
    run(editor, "same")
    expect(editor.locator("[data-result]")).to_contain_text("decides as the original does, in all 16 steps")
    expect(editor.locator("[data-sample]")).to_contain_text(
        "traces of the sample come out as on vLLM", timeout=START_MS
    )
    expect(editor.locator("[data-diff]")).to_contain_text("Nothing is changed yet.")

    replace(editor, "self.running.pop()", "self.running.pop(0)")
    run(editor, "differs")
    expect(editor.locator("[data-result] p").first).to_have_text("The first difference is in step 4: preempted.")
    expect(editor.locator(".edit-sides code")).to_have_text(["[C]", "[A]"])
    expect(editor.locator("[data-say=done]")).to_be_visible(timeout=START_MS)
    broken = editor.locator("[data-sample] li")
    assert broken.count() == int(editor.locator("scheduler-editor").get_attribute("data-broken")) > 0
    broken.filter(has_text="FCFS preempts the nearly finished request").locator("summary").click()
    expect(editor.locator("[data-sample] details[open]")).to_contain_text("Recorded on vLLM")
    expect(editor.locator(".edit-added")).to_have_text("+            victim = self.running.pop(0)\n")
    expect(editor.locator(".edit-taken")).to_have_text("-            victim = self.running.pop()\n")

    editor.get_by_role("button", name="Back to the original").click()
    run(editor, "same")
    expect(editor.locator("[data-diff]")).to_contain_text("Nothing is changed yet.")


def test_faults_name_their_line(editor, root):
    source = (root / "sim" / "scheduler.py").read_text("utf-8")
    line = 1 + source[: source.index("req_index = 0")].count("\n")
    replace(editor, "req_index = 0", "req_index = ]")
    run(editor, "fault")
    expect(editor.locator("[data-result]")).to_contain_text(f"SyntaxError in line {line}")
    expect(editor.locator("[data-sample]")).to_be_hidden()
    editor.get_by_role("button", name=f"Go to line {line}").click()
    expect(editor.locator("[data-code] .cm-activeLine")).to_have_text("        req_index = ]")
    editor.keyboard.insert_text("        req_index = len(self.queue)")
    run(editor, "fault")
    expect(editor.locator("[data-result]")).to_contain_text(f"AttributeError in line {line}")

    editor.get_by_label("Scenario (JSON)").fill('{"config": {"block_sise": 4}, "requests": []}')
    editor.get_by_role("button", name="Run").click()
    expect(editor.locator("[data-say=refused]")).to_contain_text("config.block_sise: unknown key")
    expect(editor.locator("[data-result]")).to_be_hidden()
    refused = {"config": {"max_num_batched_tokens": 2, "max_num_seqs": 4}, "requests": []}
    editor.get_by_role("button", name="Back to the original").click()
    editor.get_by_label("Scenario (JSON)").fill(json.dumps(refused))
    run(editor, "same")
    expect(editor.locator("[data-result]")).to_contain_text("vLLM does not run this scenario")
    editor.get_by_label("Scenario (JSON)").fill("{")
    editor.get_by_role("button", name="Run").click()
    expect(editor.locator("[data-say='not.json']")).to_be_visible()
    expect(editor.get_by_label("Scenario (JSON)")).to_be_focused()


def test_an_edit_that_never_returns_is_ended(editor):
    run(editor, "same")
    expect(editor.locator("[data-say=done]")).to_be_visible(timeout=START_MS)
    replace(editor, "req_index = 0", "req_index = sum(iter(int, 1))")
    editor.get_by_label("Time limit (seconds)").fill("1")
    run(editor, "stopped")
    expect(editor.locator("[data-say=stopped]")).to_contain_text("did not return within 1 seconds")
    # What another text did is not shown as if this one had done it.
    for part in ("result", "sample", "diff"):
        expect(editor.locator(f"[data-{part}]")).to_be_hidden()
    # The text is kept, and the next run has a new worker.
    editor.get_by_label("Time limit (seconds)").fill("60")
    editor.get_by_role("button", name="Run").click()
    expect(editor.locator("[data-say=running]")).to_be_visible(timeout=START_MS)
    editor.get_by_role("button", name="Cancel").click()
    expect(editor.locator("scheduler-editor")).to_have_attribute("data-state", "stopped")
    expect(editor.locator("[data-say=cancelled]")).to_contain_text("Your text is kept.")
    editor.get_by_role("button", name="Back to the original").click()
    run(editor, "same")


def test_in_chinese_on_a_phone(open_page):
    page = opened(open_page(None, viewport={"width": 390, "height": 844}, color_scheme="dark"), "zh")
    page.get_by_role("button", name="运行").click()
    expect(page.locator("[data-result]")).to_contain_text("16步全部相同", timeout=START_MS)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
