"""A hand in front of the page: writes formulas on its canvas with the mouse or a finger."""

from collections.abc import Iterator

from playwright.sync_api import CDPSession, Locator, Page, expect

from ngs.tasks.hwf.playground.strokes import written

Stroke = list[tuple[float, float]]
EVERY = 3
"""Of the points of a stroke, that the hand goes through."""


def write(page: Page, formula: str) -> None:
    """With the mouse, at an unhurried pace: every point is an event."""
    settled(page)
    draw(page, formula)
    read(page)


def draw(page: Page, formula: str) -> None:
    """Whether the page is ready or not."""
    for stroke in strokes(page.locator("#canvas"), formula):
        page.mouse.move(*stroke[0])
        page.mouse.down()
        for x, y in stroke[1:]:
            page.mouse.move(x, y)
        page.mouse.up()


def touch(page: Page, formula: str) -> None:
    """With a finger."""
    settled(page)
    finger = page.context.new_cdp_session(page)
    for stroke in strokes(page.locator("#canvas"), formula):
        _touch(finger, "touchStart", *stroke[0])
        for x, y in stroke[1:]:
            _touch(finger, "touchMove", x, y)
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    read(page)


def settled(page: Page) -> None:
    """Wait until the page has heard of its network: what it then shows may move the canvas."""
    expect(page.locator("#score dd")).to_have_count(3)


def read(page: Page) -> None:
    """Wait until everything that was drawn has been read."""
    expect(page.locator("#result")).to_have_attribute("aria-busy", "false")


def _touch(finger: CDPSession, kind: str, x: float, y: float) -> None:
    finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})


def strokes(canvas: Locator, formula: str) -> Iterator[Stroke]:
    """The formula in the middle of the canvas; pixels of the window."""
    canvas.scroll_into_view_if_needed()
    sheet = canvas.bounding_box()
    assert sheet is not None
    for line in written(formula, sheet["width"], sheet["height"]):
        yield [(sheet["x"] + x, sheet["y"] + y) for x, y in (*line[:-1:EVERY], line[-1])]
