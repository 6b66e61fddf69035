"""Draw, correct and learn, in a real browser."""

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.apps.serve.browser.pen import settled, touch, write

pytestmark = pytest.mark.xdist_group("browser")  # who trains what they look at trains it once

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def share(page: Page, bars: str, number: int) -> float:
    """What a bar shows, from 0 to 1."""
    bar = page.locator(f"{bars} .bar-track i").nth(number)
    return float(bar.evaluate("bar => bar.style.getPropertyValue('--share')"))


def test_three_times_four_is_twelve(page: Page) -> None:
    write(page, "3*4")
    expect(page.locator("#result")).to_have_text("3 × 4 = 12")
    expect(page.locator("#boxes rect")).to_have_count(3)
    expect(page.locator("#symbols > li")).to_have_count(3)
    expect(page.locator("#symbols > li").first.locator(".bar")).to_have_count(5)
    expect(page.locator("#by-symbol")).to_have_text("3 × 4")
    expect(page.locator("#by-grammar")).to_contain_text("3 × 4")
    expect(page.locator("#tree .node")).to_have_count(3)
    expect(page.locator("#tree .node .value")).to_have_text("12")
    expect(page.locator("#tour")).to_contain_text("It read 3 × 4 = 12")
    likeliest = [share(page, "#symbols > li:first-child", number) for number in range(5)]
    assert likeliest == sorted(likeliest, reverse=True) and sum(likeliest) <= 1.001
    sheet, lefts = page.locator("#canvas").bounding_box(), []
    for box in page.locator("#boxes rect").all():
        place = box.bounding_box()
        assert place and sheet and sheet["y"] < place["y"] < sheet["y"] + sheet["height"]
        assert 10 < place["width"] < sheet["width"] / 3
        lefts.append(place["x"])
    assert lefts == sorted(lefts)


def test_undo_clear_and_what_is_no_formula(page: Page) -> None:
    write(page, "3*4")
    expect(page.locator("#result")).to_contain_text("12")
    for _ in range(4):  # the strokes of × and 4
        page.click("#undo")
    expect(page.locator("#result")).to_have_text("3 = 3")
    page.keyboard.press("Control+z")
    expect(page.locator("#hint")).to_be_visible()
    expect(page.locator("#boxes rect")).to_have_count(0)
    expect(page.locator("#undo")).to_be_disabled()
    write(page, "5")
    expect(page.locator("#result")).to_have_text("5 = 5")
    page.click("#clear")
    expect(page.locator("#result")).to_have_text("…")
    write(page, "34")
    expect(page.locator("#message")).to_be_visible()
    expect(page.locator("#result")).to_have_text("?")
    expect(page.locator("#correct")).to_be_disabled()


def test_a_correction_step_by_step(page: Page) -> None:
    write(page, "3*4")
    expect(page.locator("#result")).to_contain_text("12")
    page.fill("#answer", "7")
    page.press("#answer", "Enter")
    expect(page.locator("#verdict")).to_have_text("3 × 4 becomes 3 + 4 = 7.")
    rows, chosen = page.locator("#posterior .bar"), page.locator("#posterior .marked")
    texts = rows.locator(".bar-text").all_inner_texts()  # every formula with the answer
    assert len(texts) >= 3 and all(text.endswith("= 7") for text in texts)
    expect(chosen).to_have_count(1)
    expect(chosen.locator(".bar-tag")).to_have_text("chosen")
    expect(page.locator("#posterior .bar-tag", has_text="spurious?").first).to_be_visible()
    expect(page.locator("#step-text")).to_contain_text("7 enters at the root")
    expect(page.locator("#search-tree .badge")).to_have_text(["7"])
    expect(page.locator("#step-previous")).to_be_disabled()
    steps = int(page.get_attribute("#step-range", "max") or 0)
    assert steps >= 3
    texts, queues, badges = set(), [], []
    for _ in range(steps):
        page.click("#step-next")
        texts.add(page.inner_text("#step-text"))
        queues.append(page.locator("#queue li:not(.rest)").count())
        badges.append(page.locator("#search-tree .badge").count())
    assert len(texts) == steps and max(queues) > 1 and max(badges) >= 1
    expect(page.locator("#step-next")).to_be_disabled()
    expect(page.locator("#search-tree .changed")).to_have_count(1)
    expect(page.locator("#search-tree .changed .sign")).to_have_text("+")
    expect(page.locator("#search-tree .changed .was")).to_have_text("×")
    page.click("#step-previous")
    expect(page.locator("#search-tree .changed")).to_have_count(0)
    page.click("#step-play")
    expect(page.locator("#search-tree .changed")).to_have_count(1)
    expect(page.locator("#step-play")).to_have_text("Play")


def test_a_refusal_is_shown(new_page, complaints: list[str]) -> None:
    page = new_page()
    write(page, "3*4")
    expect(page.locator("#result")).to_contain_text("12")
    page.fill("#answer", "twelve")
    page.click("#correct")
    expect(page.locator("#notice")).to_contain_text("twelve")
    expect(page.locator("#correct")).to_be_enabled()
    page.click("#notice-close")
    expect(page.locator("#notice")).to_be_hidden()
    refused(complaints, 422)


def learn(page: Page) -> tuple[float, float]:
    """Press the button once: the probability of the answer before and after."""
    with page.expect_response("**/api/learn"):
        page.click("#learn")
    expect(page.locator("#learn")).to_be_enabled()
    return share(page, "#learned-bars", 0), share(page, "#learned-bars", 1)


def test_learning_raises_the_probability_of_the_answer_for_this_visitor(page: Page) -> None:
    expect(page.locator("#weak-text")).to_have_text(re.compile(r"knows [2-5]\d% of the symbols"))
    settled(page)
    page.locator("#weak-label").click()
    expect(page.locator("#weak")).to_be_checked()
    write(page, "3*4")
    expect(page.locator("#result")).to_contain_text("=")
    page.fill("#answer", "7")
    page.fill("#learn-steps", "20")
    first, after = learn(page)
    assert first < 0.5 and after > first
    for _ in range(4):  # a busy machine takes fewer steps each time
        if after < 0.6:
            _, after = learn(page)
    assert after > 0.6
    expect(page.locator("#result")).to_contain_text("= 7")
    expect(page.locator("#score dd")).to_have_text(["1", re.compile("[01]"), "1"])
    page.reload()
    write(page, "3*4")
    expect(page.locator("#result")).to_contain_text("= 7")
    page.click("#reset")
    expect(page.locator("#score dd").first).to_have_text("0")
    expect(page.locator("#learned")).to_be_hidden()


def test_the_weak_network_stays_until_something_is_learned(page: Page) -> None:
    settled(page)  # or the switch may move under the mouse
    page.locator("#weak-label").click()
    expect(page.locator("#weak")).to_be_checked()
    write(page, "3*4")
    expect(page.locator("#result")).to_contain_text("=")
    page.fill("#answer", "1000")
    page.click("#learn")
    expect(page.locator("#learned-text")).to_contain_text("nothing to learn from")
    with page.expect_request("**/api/read") as asked:
        page.click("#undo")
    assert asked.value.post_data_json["network"] == "weak"


def test_the_switch_waits_for_learning_and_the_focus_comes_back(page: Page) -> None:
    held: list[Route] = []
    page.route("**/api/learn", lambda route: held.append(route))
    write(page, "3*4")
    expect(page.locator("#result")).to_contain_text("12")
    page.fill("#answer", "7")
    page.focus("#learn")
    with page.expect_request("**/api/learn"):
        page.keyboard.press("Enter")
    expect(page.locator("#weak")).to_be_disabled()
    page.locator("#answer").evaluate("field => field.dispatchEvent(new Event('input'))")
    expect(page.locator("#learn")).to_be_disabled()
    held[0].continue_()
    expect(page.locator("#learned")).to_be_visible()
    expect(page.locator("#weak")).to_be_enabled()
    expect(page.locator("#learn")).to_be_focused()


def refused(complaints: list[str], status: int) -> None:
    """Chromium logs every refusal; nothing else was complained of."""
    assert complaints and all(str(status) in each for each in complaints)
    complaints.clear()


def test_a_refused_switch_goes_back(page: Page, complaints: list[str]) -> None:
    settled(page)
    page.route("**/api/reset", lambda route: route.fulfill(status=409, json={"error": "not now"}))
    page.locator("#weak-label").click()
    expect(page.locator("#notice")).to_contain_text("not now")
    expect(page.locator("#weak")).not_to_be_checked()
    refused(complaints, 409)


def test_a_busy_server_is_asked_again(page: Page, complaints: list[str]) -> None:
    sent_away: list[str] = []

    def busy_at_first(route: Route) -> None:
        if len(sent_away) == 2:
            route.continue_()
        else:
            sent_away.append(route.request.url)
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"error": "busy"})

    page.route("**/api/read", busy_at_first)
    page.locator("#formula-examples button").first.click()
    expect(page.locator("#result")).to_have_text("3 × 4 = 12")
    expect(page.locator("#notice")).to_be_hidden()
    assert len(sent_away) == 2
    refused(complaints, 503)


def test_every_formula_that_the_page_writes_is_read(page: Page, complaints: list[str]) -> None:
    for text in page.locator("#formula-examples button").all_inner_texts():
        page.get_by_role("button", name=text, exact=True).click()
        expect(page.locator("#result .formula")).to_have_text(text)
    page.fill("#typed", "7 − 8 ÷ 2")
    page.press("#typed", "Enter")
    expect(page.locator("#result")).to_have_text("7 − 8 ÷ 2 = 3")
    page.fill("#typed", "2*3")
    page.press("#typed", "Enter")
    expect(page.locator("#result")).to_have_text("2 × 3 = 6")
    page.fill("#typed", "two")
    page.press("#typed", "Enter")
    expect(page.locator("#notice")).to_contain_text("two")
    refused(complaints, 422)
    expect(page.locator("#result")).to_have_text("2 × 3 = 6")
    page.fill("#typed", "1+1+1+1+1+1")  # too long to look at all others
    page.press("#typed", "Enter")
    expect(page.locator("#result .formula")).to_contain_text("+ 1 + 1 + 1 + 1")
    page.fill("#answer", "5000")
    page.click("#correct")
    expect(page.locator("#verdict")).to_contain_text("the formula is too long to look at all others")


def test_an_older_answer_does_not_replace_a_newer_one(page: Page) -> None:
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/api/read", hold_the_first)
    line(page, 40)
    page.wait_for_timeout(200)
    line(page, 240)
    expect(page.locator("#boxes rect")).to_have_count(2)
    held[0].fulfill(json=_NOTHING_SEEN)
    page.wait_for_timeout(200)
    expect(page.locator("#boxes rect")).to_have_count(2)


_NOTHING_SEEN = {
    "symbols": [], "by_symbol": "", "by_symbol_is_formula": False, "formula": None, "probability": None,
    "value": None, "decimal": None, "tree": None, "alternatives": [], "message": "old",
}  # fmt: skip


def line(page: Page, x: float) -> None:
    """One stroke downwards."""
    sheet = page.locator("#canvas").bounding_box()
    assert sheet is not None
    page.mouse.move(sheet["x"] + x, sheet["y"] + 40)
    page.mouse.down()
    page.mouse.move(sheet["x"] + x + 2, sheet["y"] + 110, steps=5)
    page.mouse.up()


def test_a_finger_on_a_phone(new_page) -> None:
    """It draws, and taps everything else."""
    phone = new_page(**PHONE)
    before = phone.locator("#canvas").bounding_box()
    touch(phone, "3*4")
    expect(phone.locator("#result")).to_have_text("3 × 4 = 12")
    assert phone.locator("#canvas").bounding_box() == before, "the canvas moved under the finger"
    phone.tap("#clear")
    phone.get_by_role("button", name="3 × 4", exact=True).tap()
    expect(phone.locator("#result")).to_have_text("3 × 4 = 12")
    phone.tap("#answer")
    phone.keyboard.type("7")
    phone.tap("#correct")
    expect(phone.locator("#verdict")).to_have_text("3 × 4 becomes 3 + 4 = 7.")
    phone.tap("#step-next")
    expect(phone.locator("#step-count")).to_have_text(re.compile("^1 of"))
    phone.tap("#learn")
    expect(phone.locator("#learned")).to_be_visible()
    phone.tap("#weak-label")
    expect(phone.locator("#weak")).to_be_checked()
    expect(phone.locator("#score dd").first).to_have_text("0")


def test_without_a_pointer(page: Page) -> None:
    """Everything by keyboard: a formula that the page writes, its answer, the steps, learning."""

    def focus(name: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.matches({json.dumps(name)})"):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline == "solid" or name == "#weak", f"{name} has the focus, but one cannot see it"
                return
        raise AssertionError(f"{name} cannot be reached with the tabulator")

    focus("#formula-examples button")
    page.keyboard.press("Enter")
    expect(page.locator("#result")).to_have_text("3 × 4 = 12")
    focus("#answer")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_contain_text("3 + 4")
    focus("#step-next")
    page.keyboard.press("Space")
    expect(page.locator("#step-count")).to_have_text(re.compile("^1 of"))
    focus("#step-play")
    focus("#learn")
    page.keyboard.press("Enter")
    expect(page.locator("#learned")).to_be_visible()
    focus("#reset")
    focus("#weak")
