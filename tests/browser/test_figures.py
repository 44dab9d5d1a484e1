"""A reader at work on the figures: mouse, keyboard, touch; what is shown belongs to the controls."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from sim.figures import FIGURES

OpenPage = Callable[..., Page]


WaitReady = Callable[..., Page]


@pytest.fixture(scope="module")
def live(browser: Browser, site_url: str) -> Iterator[Page]:
    """A page whose engine is ready, shared by the tests of this file; each sets all the controls that it reads."""
    errors: list[str] = []
    with browser.new_page(viewport={"width": 1440, "height": 900}) as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{site_url}/en/")
        expect(page.locator("html")).to_have_attribute("data-engine", "ready", timeout=60_000)
        yield page
    assert errors == []


def one_step(page: Page) -> Locator:
    """The first figure."""
    return page.locator('batch-loom[figure="one-step"]')


def control(figure: Locator, name: str) -> Locator:
    """One control of a figure."""
    return figure.locator(f'input[name="{name}"]')


def number(figure: Locator, name: str) -> Locator:
    """One result of a figure."""
    return figure.locator(f'output[name="{name}"]')


def start(page: Page) -> Locator:
    """The first figure in view, with the values of group A, and its picture current."""
    figure = one_step(page)
    figure.scroll_into_view_if_needed()
    figure.locator('[data-preset="group-a"]').click()
    expect(figure).to_have_attribute("data-state", "current")
    return figure


COMPARE = """async (figure, assets) => {
    const { startEngine } = await import(`${assets}/engine.mjs`);
    const { readValues } = await import(`${assets}/controls.mjs`);
    const { call } = await startEngine();
    const result = figure.shadowRoot.querySelector('[data-part="result"]');
    const bare = (element) => {
        const copy = document.createElement("div");
        copy.append(...element.cloneNode(true).childNodes);
        for (const mark of ["open", "data-lit"]) {
            for (const marked of copy.querySelectorAll(`[${mark}]`)) marked.removeAttribute(mark);
        }
        return copy;
    };
    const wrong = [];
    let compared = 0;
    const compare = async (name) => {
        figure.form.dispatchEvent(new Event("input", { bubbles: true }));
        while (!figure.isCurrent) await new Promise(requestAnimationFrame);
        const values = readValues(figure.form);
        const question = { do: "render", figure: figure.getAttribute("figure"), language: "en", values };
        const fresh = document.createElement("div");
        fresh.innerHTML = (await call(question)).parts.join("");
        if (!bare(fresh).isEqualNode(bare(result))) wrong.push(`${name}: ${JSON.stringify(values)}`);
        compared += 1;
    };
    for (const control of figure.form.elements) {
        if (control.type === "range") {
            for (const value of [control.min, control.max]) { control.value = value; await compare(control.name); }
        } else if (["radio", "checkbox"].includes(control.type)) {
            control.checked = !control.checked || control.type === "radio";
            await compare(control.name);
        }
    }
    figure.shadowRoot.querySelector("[data-reset]").click();
    await compare("reset");
    return { wrong, compared };
}"""
"""Sets every control to both ends and to every choice; the picture must be what Python draws from nothing."""


def thumb(slider: Locator, value: int) -> tuple[float, float]:
    """Where the thumb of a slider stands at `value`; a thumb's middle stays half its width inside."""
    box = slider.bounding_box()
    assert box
    low, high = (int(slider.get_attribute(name) or 0) for name in ("min", "max"))
    inside = box["width"] - box["height"]
    x = box["x"] + box["height"] / 2 + inside * (value - low) / (high - low)
    return x, box["y"] + box["height"] / 2


def test_dragging_the_budget_over_the_decodes_lights_the_first_prefill_cell(live: Page) -> None:
    figure = start(live)
    slider = control(figure, "B")
    slider.scroll_into_view_if_needed()
    live.mouse.move(*thumb(slider, 16))
    live.mouse.down()
    seen = {}
    for value in range(16, 5, -1):
        live.mouse.move(*thumb(slider, value), steps=3)
        expect(figure).to_have_attribute("data-state", "current")
        budget = int(slider.input_value())
        seen[budget] = int(number(figure, "prefill").get_attribute("data-value") or -1)
    live.mouse.up()
    assert len(seen) > 5, "the drag kept its pointer"
    assert min(seen) < 10 < max(seen)
    assert seen == {budget: max(0, budget - 10) for budget in seen}


def test_keyboard_moves_a_slider_and_keeps_its_focus(live: Page) -> None:
    figure = start(live)
    slider = control(figure, "D")
    slider.focus()
    for decodes in range(11, 17):
        live.keyboard.press("ArrowRight")
        expect(slider).to_have_value(str(decodes))
        expect(number(figure, "decode")).to_have_attribute("data-value", str(decodes))
        expect(slider).to_be_focused()
    expect(number(figure, "steps_to_finish_prefill")).to_have_attribute("data-value", "never")
    live.keyboard.press("Home")
    expect(number(figure, "decode")).to_have_attribute("data-value", "0")
    live.keyboard.press("End")
    expect(number(figure, "decode")).to_have_attribute("data-value", "16")


def test_everything_can_be_reached_and_used_with_the_keyboard(live: Page) -> None:
    figure = start(live)
    figure.locator('input[name="policy"][value="decode-first"]').focus()
    live.keyboard.press("ArrowRight")
    expect(figure.locator('input[name="policy"][value="prefill-first"]')).to_be_checked()
    expect(number(figure, "prefill")).to_have_attribute("data-value", "16")
    control(figure, "chunked_prefill").focus()
    live.keyboard.press("Space")
    expect(number(figure, "prefill")).to_have_attribute("data-value", "0")
    button = figure.locator('[data-preset="group-b"]')
    button.focus()
    live.keyboard.press("Enter")
    expect(number(figure, "decode")).to_have_attribute("data-value", "16")
    expect(button).to_be_focused()


def test_leaves_current_in_the_input_event_itself(live: Page) -> None:
    figure = start(live)
    states = figure.evaluate(
        """(figure) => {
            const slider = figure.shadowRoot.querySelector('[name="D"]');
            const states = [figure.dataset.state];
            slider.value = 12;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            return [...states, figure.dataset.state];
        }"""
    )
    assert states == ["current", "busy"]
    expect(figure).to_have_attribute("data-state", "current")
    expect(number(figure, "decode")).to_have_attribute("data-value", "12")


def test_newest_of_many_changes_wins_and_those_between_are_dropped(live: Page) -> None:
    figure = start(live)
    swaps = figure.evaluate(
        """async (figure) => {
            let swaps = 0;
            figure.addEventListener("drawn", () => { swaps += 1; });
            const slider = figure.shadowRoot.querySelector('[name="D"]');
            for (let value = 0; value <= 64; value += 1) {
                slider.value = value;
                slider.dispatchEvent(new Event("input", { bubbles: true }));
            }
            slider.value = 7;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            while (figure.dataset.state !== "current") await new Promise(requestAnimationFrame);
            return swaps;
        }"""
    )
    assert 1 <= swaps <= 2
    expect(number(figure, "decode")).to_have_attribute("data-value", "7")


def test_only_the_result_is_replaced(live: Page) -> None:
    figure = start(live)
    kept = """(figure) => {
        window.kept ??= [];
        const root = figure.shadowRoot;
        const now = [root.querySelector("form"), root.querySelector('[name="D"]')];
        const same = window.kept.length === 0 || now.every((element, i) => element === window.kept[i]);
        window.kept = now;
        return same;
    }"""
    figure.evaluate(kept)
    control(figure, "D").fill("3")
    expect(number(figure, "decode")).to_have_attribute("data-value", "3")
    assert figure.evaluate(kept)


def test_open_details_and_their_focus_survive_a_change(live: Page) -> None:
    figure = start(live)
    details = figure.locator('[data-part="result"] details[id]').first
    details.locator("summary").click()
    expect(details).to_have_attribute("open", "")
    control(figure, "D").evaluate(
        "(slider) => { slider.value = 5; slider.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    expect(number(figure, "decode")).to_have_attribute("data-value", "5")
    expect(details).to_have_attribute("open", "")
    expect(details.locator("summary")).to_be_focused()
    details.locator("summary").click()
    expect(details).not_to_have_attribute("open", "")


@pytest.mark.parametrize("name", FIGURES)
def test_a_picture_made_from_another_is_the_one_that_python_draws(live: Page, assets: str, name: str) -> None:
    figure = live.locator(f'batch-loom[figure="{name}"]')
    figure.scroll_into_view_if_needed()
    found = figure.evaluate(COMPARE, f"../{assets}")
    assert found["wrong"] == []
    assert found["compared"] >= 3


def test_a_figure_out_of_view_answers_when_it_is_scrolled_to(live: Page) -> None:
    start(live)
    far = live.locator('batch-loom[figure="six-steps"]')
    far.evaluate(
        """(figure) => {
            const slider = figure.shadowRoot.querySelector('[name="step"]');
            slider.value = slider.value === "2" ? 3 : 2;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
        }"""
    )
    live.evaluate("() => window.batchloom.onestep({})")  # Python is free: whoever wanted an answer has it
    expect(far).to_have_attribute("data-state", "busy")
    far.scroll_into_view_if_needed()
    expect(far).to_have_attribute("data-state", "current")


def test_steps_with_buttons_play_and_slider(live: Page) -> None:
    figure = live.locator('batch-loom[figure="six-steps"]')
    figure.scroll_into_view_if_needed()
    slider = control(figure, "step")
    figure.locator('[data-step-to="first"]').click()
    expect(slider).to_have_value("0")
    figure.locator('[data-step-by="1"][data-for="step"]').click()
    expect(slider).to_have_value("1")
    figure.locator('[data-step-by="-1"][data-for="step"]').click()
    expect(slider).to_have_value("0")
    figure.locator('[data-step-to="last"]').click()
    expect(slider).to_have_value(slider.get_attribute("max") or "")
    expect(figure).to_have_attribute("data-state", "current")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"\S"))

    play = figure.locator('[data-play="step"]')
    play.click()
    expect(play).to_have_attribute("aria-pressed", "true")
    expect(slider).to_have_value("0")
    expect(slider).to_have_value("1")
    play.click()
    expect(play).to_have_attribute("aria-pressed", "false")


def test_touch_on_a_phone(open_page: OpenPage, wait_ready: WaitReady) -> None:
    page = wait_ready(open_page("zh/", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True))
    figure = one_step(page)
    figure.locator('[data-preset="group-b"]').tap()
    expect(number(figure, "steps_to_finish_prefill")).to_have_attribute("data-value", "never")
    slider = control(figure, "B")
    slider.scroll_into_view_if_needed()
    page.touchscreen.tap(*thumb(slider, 100))
    expect(figure).to_have_attribute("data-state", "current")
    budget = int(slider.input_value())
    assert 90 <= budget <= 110
    expect(number(figure, "prefill")).to_have_attribute("data-value", "24")
    expect(number(figure, "idle")).to_have_attribute("data-value", str(budget - 40))
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_outcome_is_spoken_once_things_are_settled(live: Page) -> None:
    figure = start(live)
    control(figure, "D").fill("16")
    spoken = figure.locator('[data-part="spoken"]')
    sentence = figure.locator('[data-part="why"]')
    expect(sentence).to_contain_text("16")
    expect(spoken).to_have_text(sentence.inner_text())
    expect(spoken).to_have_attribute("role", "status")


def test_buttons_of_less_and_more_stop_at_the_ends(live: Page) -> None:
    figure = start(live)
    control(figure, "M").fill("2")
    for expected in ("1", "1"):
        figure.locator('[data-for="M"][data-step-by="-1"]').click()
        expect(control(figure, "M")).to_have_value(expected)
        expect(figure.locator('output[data-for="M"]')).to_have_text(expected)
    expect(number(figure, "decode")).to_have_attribute("data-value", "1")


def test_recordings_are_switched_and_stepped(live: Page) -> None:
    """Another recording, another backend, the next step: each number is that of the table."""
    figure = live.locator('batch-loom[figure="hardware"]')
    figure.scroll_into_view_if_needed()
    figure.get_by_label("Long prompt, B = 2048").check()
    figure.get_by_label("vLLM engine, CPU").check()
    control(figure, "step").fill("3")
    figure.locator('[data-step-by="1"]').click()
    expect(figure).to_have_attribute("data-state", "current")
    expect(number(figure, "tokens")).to_have_attribute("data-value", "1032")
    vllm = number(figure, "median_us").inner_text()
    figure.locator('[data-part="table"] summary').click()
    row = figure.locator('[data-part="table"] tbody tr').nth(4)
    expect(row).to_contain_text("P 1024")
    expect(row.locator("td").nth(3)).to_have_text(vllm)
    assert int(number(figure, "gap_us_2048").get_attribute("data-value") or 0) > 2 * int(
        number(figure, "gap_us_128").get_attribute("data-value") or 0
    )
    figure.get_by_label("torch executor, CPU").check()
    expect(figure).to_have_attribute("data-state", "current")
    expect(number(figure, "tokens")).to_have_attribute("data-value", "1032")
    expect(number(figure, "median_us")).not_to_have_text(vllm)
    control(figure, "step").fill("19")
    figure.get_by_label("Six steps").check()
    expect(figure.locator('[data-part="why"]')).to_contain_text("after t5")
