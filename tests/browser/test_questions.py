"""Questions in the page: guessed by hand, keyboard and touch; told at once, without Python too; never in the way."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

OpenPage = Callable[..., Page]
WaitReady = Callable[..., Page]

AXE = """async () => {
    const figures = [...document.querySelectorAll("batch-loom")];
    const asking = figures.filter((one) => one.shadowRoot.querySelector(".questions"));
    const include = asking.map(({ id }) => ({ fromShadowDom: [`#${id}`, ".questions"] }));
    const found = await window.axe.run({ include }, { preload: false, resultTypes: ["violations"] });
    return [asking.length, found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].target.flat().join(" ")}`)];
}"""


def question(page: Page, name: str) -> Locator:
    return page.locator(f'[data-question="{name}"]')


def hold(page: Page) -> None:
    """The engine never comes."""
    page.route("**/vendor/**", lambda route: None)


def test_a_number_is_guessed_with_the_keyboard(open_page: OpenPage, wait_ready: WaitReady) -> None:
    page = wait_ready(open_page("en/"))
    figure, asked = page.locator('batch-loom[figure="one-step"]'), question(page, "one-step")
    field, fold, verdict = asked.locator("[data-guess]"), asked.locator("details"), asked.locator(".verdict:visible")
    expect(figure.locator('output[name="prefill"]')).to_have_attribute("data-value", "6")

    field.press("Enter")
    expect(verdict).to_have_text("A whole number from 0 to 24, please.")
    field.fill("25")
    field.press("Enter")
    expect(verdict).to_have_text("A whole number from 0 to 24, please.")
    expect(fold).not_to_have_attribute("open", "")
    expect(figure.locator('input[name="D"]')).to_have_value("10")

    field.fill("16")
    field.press("Enter")
    expect(verdict).to_contain_text("if the prompt went first")
    expect(asked).to_have_attribute("data-guessed", "wrong")
    expect(field).to_be_focused()
    expect(fold).to_have_attribute("open", "")
    expect(asked.locator(".cut")).to_have_attribute("width", str(16 * 16))
    expect(asked.locator(".of-guess")).to_have_text("your guess 16")
    expect(figure.locator('input[name="D"]')).to_have_value("13")
    expect(figure.locator('output[name="prefill"]')).to_have_attribute("data-value", "3")
    expect(figure).to_have_attribute("data-state", "current")

    field.fill("4")
    asked.locator("[data-check]").click()
    expect(verdict).to_have_text("Too high.")
    field.fill("3")
    field.press("Enter")
    expect(verdict).to_have_text("Right.")
    expect(asked).to_have_attribute("data-guessed", "right")

    spoken, why = figure.locator('[data-part="spoken"]'), figure.locator('[data-part="why"]')
    expect(spoken).to_contain_text("Right. 3. The 13 decodes are running")
    figure.locator('input[name="D"]').press("ArrowRight")
    expect(why).to_contain_text("14 decodes")
    expect(spoken).to_have_text(why.inner_text())

    figure.locator("[data-reset]").click()
    expect(asked).not_to_have_attribute("data-guessed", "right")
    expect(fold).not_to_have_attribute("open", "")
    expect(verdict).to_have_count(0)
    expect(field).to_have_value("")
    expect(figure.locator('input[name="D"]')).to_have_value("10")


def test_a_choice_is_told_before_python_is_there(open_page: OpenPage) -> None:
    page = open_page(None, viewport={"width": 390, "height": 844}, has_touch=True)
    hold(page)
    page.goto("zh/")
    figure, asked = page.locator('batch-loom[figure="preemption"]'), question(page, "victim")
    expect(asked.locator(".fact:visible, .mark:visible")).to_have_count(0)
    asked.locator('[data-answer="A"]').tap()
    expect(asked.locator(".verdict:visible")).to_contain_text("来要块的正是A")
    expect(figure.locator('[data-part="spoken"]')).to_contain_text("来要块的正是A")
    expect(figure.locator('[data-part="spoken"]')).to_contain_text("running里的最后一个")
    expect(asked.locator('[aria-pressed="true"]')).to_have_attribute("data-answer", "A")
    expect(asked.locator('[data-answer="A"] .mine')).to_be_visible()
    expect(asked.locator('[data-answer="D"] .right')).to_be_visible()
    expect(asked.locator(".fact:visible")).to_have_count(4)
    expect(figure.locator('input[name="num_gpu_blocks"]')).to_have_value("10")
    expect(question(page, "recompute").locator("details")).not_to_have_attribute("open", "")
    boxes = [button.bounding_box() for button in asked.locator("button:visible").all()]
    assert all(box and box["height"] >= 44 and box["width"] >= 44 for box in boxes)


def test_without_an_engine_a_guess_is_told_and_the_picture_stays(
    open_page: OpenPage, wait_ready: WaitReady, expect_problem: Callable[[str], None]
) -> None:
    expect_problem("404")
    page = open_page(None)
    page.route("**/worker.py", lambda route: route.fulfill(status=404, body=""))
    page.goto("en/")
    wait_ready(page, "failed")
    figure, asked = page.locator('batch-loom[figure="six-steps"]'), question(page, "six-steps")
    asked.locator('[data-answer="t4"]').click()
    expect(asked.locator(".verdict:visible")).to_contain_text("The first one came with the end of the prompt.")
    figure.locator(".heads button").last.click()
    expect(figure).to_have_attribute("data-state", "static")
    expect(figure.locator('input[name="step"]')).to_have_value("2")


PLACES = """() => [...document.querySelectorAll("batch-loom")].flatMap(({ id, shadowRoot: root }) => {
    const questions = root.querySelector(".questions");
    if (!questions) return [];
    const bottoms = [...root.querySelectorAll(".picture, .told, .extras, .coming, .rules, .charts, .plans")]
        .map((one) => one.getBoundingClientRect().bottom);
    const picture = root.querySelector(".of-frame") ?? root.querySelector(".picture, .charts, .plans, .rules");
    const panel = root.querySelector(".extras, .coming") ?? root.querySelector(".told, .why");
    const asked = questions.querySelector("fieldset").getBoundingClientRect().bottom;
    const stays = getComputedStyle(root.querySelector(".picture, .charts, .plans, .rules")).position === "sticky";
    const [picked, told] = [picture, panel].map((one) => stays ? 0 : asked - one.getBoundingClientRect().top);
    return [{ id, isBelow: Math.max(...bottoms) <= questions.getBoundingClientRect().top, picked, told }];
})"""


@pytest.mark.parametrize("viewport", [{"width": 1440, "height": 900}, {"width": 390, "height": 844}])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_question_stands_below_what_it_asks_about(
    open_page: OpenPage, language: str, viewport: dict[str, int]
) -> None:
    page = open_page(None, viewport=viewport)
    hold(page)
    page.goto(f"{language}/")
    places = page.evaluate(PLACES)
    assert [place["id"] for place in places if not place["isBelow"]] == []
    seen_with_it = "picked" if viewport["width"] > 390 else "told"
    assert [place for place in places if place[seen_with_it] > viewport["height"]] == []


def test_skipping_needs_no_guess_and_no_script(open_page: OpenPage) -> None:
    page = open_page("en/", java_script_enabled=False)
    asked = question(page, "kv-blocks")
    expect(asked.locator("legend")).to_be_visible()
    expect(asked.locator("[data-guess]")).to_be_hidden()
    expect(asked.locator(".because")).to_be_hidden()
    asked.locator("summary").click()
    expect(asked.locator(".because")).to_contain_text("reserved for nobody")
    page.emulate_media(media="print")
    for answer in page.locator(".because").all():
        expect(answer).to_be_visible()


def test_questions_can_be_hidden_and_leave_the_controls_alone(open_page: OpenPage) -> None:
    page = open_page(None)
    hold(page)
    page.goto("en/embed/preemption/?hide=question")
    expect(page.locator("[data-notices] li")).to_have_count(0)
    expect(page.locator("[data-question]")).to_have_count(2)
    expect(page.locator("[data-question]:visible")).to_have_count(0)
    page.goto("en/embed/preemption/?lock=num_gpu_blocks")
    question(page, "victim").locator('[data-answer="D"]').click()
    expect(question(page, "victim")).to_have_attribute("data-guessed", "right")
    expect(page.locator('input[name="num_gpu_blocks"]')).to_have_value("7")
    for control in page.locator("form :is(input, button):visible").all():
        is_on_top = """(one) => {
            one.scrollIntoView({ block: "center" });
            const { x, y, width, height } = one.getBoundingClientRect();
            return one.getRootNode().elementFromPoint(x + width / 2, y + height / 2)?.closest("button, input") === one;
        }"""
        assert control.evaluate(is_on_top)


def test_answered_questions_pass_axe_in_both_themes_and_forced_colours(open_page: OpenPage, root: Path) -> None:
    page = open_page(None, bypass_csp=True, viewport={"width": 390, "height": 844})
    page.add_init_script(path=root / "node_modules" / "axe-core" / "axe.min.js")
    hold(page)
    page.goto("en/")
    for asked in page.locator("[data-question]").all():
        wrong = asked.locator("[data-answer]:not(:has(.right))")
        if wrong.count():
            wrong.first.click()
        else:
            asked.locator("[data-guess]").fill(asked.locator("[data-guess]").get_attribute("max") or "")
            asked.locator("[data-guess]").press("Enter")
        expect(asked).to_have_attribute("data-guessed", "wrong")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert page.evaluate(AXE) == [15, []]
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.emulate_media(forced_colors="active")
    fills = (
        question(page, "victim").locator(".share").evaluate_all("(all) => all.map((one) => getComputedStyle(one).fill)")
    )
    assert len(set(fills)) == 2, "the right one is told apart by colour here, and by its words"
