"""The import panel: files as people have them, read in the browser, with an account of what was left out."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

START_MS = 60_000
DATA = Path(__file__).resolve().parents[1] / "data"


@pytest.fixture
def panel(page: Page) -> Page:
    """The English page, ready for a file."""
    page.goto("en/sandbox/import/")
    expect(page.locator("import-panel")).to_have_attribute("data-state", "ready")
    return page


def hand_in(page: Page, content: bytes, name: str, state: str = "current") -> None:
    page.locator("#import-file").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content})
    expect(page.locator("[data-say=reading]")).to_be_hidden(timeout=START_MS)
    expect(page.locator("import-panel")).to_have_attribute("data-state", state, timeout=START_MS)


def paste(page: Page, text: str) -> None:
    page.get_by_label("Or paste its text").fill(text)
    page.get_by_role("button", name="Read this text").click()
    expect(page.locator("import-panel")).to_have_attribute("data-state", "current", timeout=START_MS)


def scenario(page: Page) -> dict:
    return json.loads(page.locator("[data-scenario] pre").text_content())


def test_a_log_then_a_trace_are_drawn_beside_each_other(panel):
    hand_in(panel, (DATA / "vllm-server.log").read_text("utf-8").replace("\n", "\r\n").encode("utf-16"), "server.log")
    account = panel.locator("[data-account]")
    expect(account).to_contain_text("vllm-log")
    expect(account.locator("[data-list=left-out] li")).to_have_text(
        ["Line 10: prompt_throughput is missing, the line is cut or of another form"]
    )
    expect(panel.locator("[data-chart=running] .beside-measured")).to_have_count(1)
    expect(panel.locator("[data-chart=running] .beside-simulated")).to_have_count(0)

    hand_in(panel, b"\xef\xbb\xbf" + (DATA / "azure.first60.csv").read_bytes()[:-9], "azure.csv")
    expect(account).to_contain_text("60 rows, 59 requests")
    expect(panel.locator("[data-beside] .beside-measured")).to_have_count(3)
    expect(panel.locator("[data-beside] .beside-simulated")).to_have_count(3)
    found = scenario(panel)
    assert (found["config"]["num_gpu_blocks"], len(found["requests"])) == (5867, 59)


def test_a_pasted_command_line_names_what_is_gone_and_unknown(panel):
    paste(panel, "vllm serve M --max-num-seqs 64 --swap-space 8 --frobnicate 3 --max-num-batched-tokens 1.5K")
    lists = panel.locator("[data-account] [data-list]")
    expect(lists.nth(0)).to_contain_text("a suffix for powers of 1024 allows no fraction")
    expect(panel.locator("[data-list=removed] li")).to_have_text(["--swap-space"])
    expect(panel.locator("[data-list=unknown] li")).to_have_text(["--frobnicate"])
    assert scenario(panel)["config"] == {"max_num_seqs": 64}


def test_many_requests_are_offered_and_what_is_no_text_is_refused(panel):
    rows = "".join(f"{n};{n % 50 + 1};{n % 7 + 1}\r\n" for n in range(20_000))
    content = ("arrived_at;num_prefill_tokens;num_decode_tokens\r\n" + rows).encode()
    hand_in(panel, content, "large.csv", "offer")
    expect(panel.locator("[data-offer] p").first).to_have_text("20000 requests are many to draw. Take:")
    expect(panel.locator("[data-scenario]")).to_be_hidden()
    panel.get_by_role("button", name="a sample of 500").click()
    expect(panel.locator("import-panel")).to_have_attribute("data-state", "current", timeout=START_MS)
    requests = scenario(panel)["requests"]
    assert [requests[0]["arrival_us"], requests[1]["arrival_us"], len(requests)] == [0, 40_000_000, 500]
    expect(panel.locator("[data-offer] p").first).to_have_text("20000 requests are many to draw. Take:")

    panel.get_by_label("Unit of times").select_option("ms")
    expect(panel.locator("import-panel")).to_have_attribute("data-state", "offer")
    panel.get_by_role("button", name="the first 500").click()
    expect(panel.locator("import-panel")).to_have_attribute("data-state", "current", timeout=START_MS)
    assert scenario(panel)["requests"][1]["arrival_us"] == 1000

    for content, reason in ((b"\x1f\x8b\x08\x00", "gzip"), (b"", "is empty"), (b"a,b\n1,2\n", "is not known")):
        hand_in(panel, content, "odd.bin", "refused")
        expect(panel.locator("[data-say=refused]")).to_contain_text(reason)
    # What was there is kept.
    assert len(scenario(panel)["requests"]) == 500


def test_a_dropped_file_and_chinese(open_page):
    page = open_page("zh/sandbox/import/", viewport={"width": 390, "height": 844})
    expect(page.locator("import-panel")).to_have_attribute("data-state", "ready")
    transfer = page.evaluate_handle(
        """(text) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([text], "bench.json"));
            return transfer;
        }""",
        (DATA / "bench-detailed.json").read_text("utf-8"),
    )
    page.locator("[data-drop]").dispatch_event("drop", {"dataTransfer": transfer})
    expect(page.locator("[data-account]")).to_contain_text("3行，2个请求", timeout=START_MS)
    expect(page.locator("[data-list=left-out]")).to_contain_text('request 2: failed: "boom"')
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
