"""Make the pictures of docs/playground.md: `python scripts/screenshots.py` with runs of both tasks in runs/.

A real server, a real Chromium, and what a visitor would do. Train the runs first:

    ngs train hwf; ngs report runs/hwf-posterior-0; ngs train clevr
"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from ngs.apps.serve.child import serving

IMAGES = Path(__file__).parents[1] / "docs/images/playground"
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
SETTLED = 900
"""Milliseconds after which nothing moves any more."""


def opened(browser: Browser, address: str, *, phone: bool = False, dark: bool = False) -> Page:
    context = browser.new_context(
        viewport=PHONE if phone else WIDE,
        is_mobile=phone,
        has_touch=phone,
        device_scale_factor=2 if phone else 1.5,
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#score dd")
    return page


def write(page: Page, formula: str) -> None:
    page.get_by_role("button", name=formula, exact=True).click()
    page.wait_for_selector("#result strong")
    page.wait_for_timeout(SETTLED)


def correct(page: Page, answer: str, step: int | None = None) -> None:
    page.fill("#answer", answer)
    page.click("#correct")
    page.wait_for_selector("#verdict:not(:empty)")
    if step is not None:
        page.locator("#step-range").fill(str(step))
    page.wait_for_timeout(SETTLED)


def picture(page: Page, name: str, part: str | None = None) -> None:
    """Of the window, or of a part of the page."""
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    path = IMAGES / f"{name}.png"
    if part is None:
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=path)
    else:
        page.locator(part).screenshot(path=path)


def draw_correct_learn(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    write(page, "9 − 6 ÷ 4 + 7")
    picture(page, "draw")
    page.locator("#weak-label").click()
    page.wait_for_timeout(SETTLED)
    correct(page, "29/2", 14)
    picture(page, "correct", "section:has(> header #correct-title)")
    write(page, "2 + 5 × 3")
    page.fill("#answer", "17")
    page.click("#learn")
    page.wait_for_selector("#learned:not([hidden])", timeout=60_000)
    page.wait_for_timeout(SETTLED)
    picture(page, "learn", "section:has(> header #learn-title)")


def ask(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    page.click("#tab-ask")
    page.locator("#question-examples button").nth(2).click()
    page.wait_for_selector("#program .step")
    for _ in range(2):
        page.click("#program-previous")
    page.locator("#picture").evaluate("image => image.decode()")
    page.wait_for_timeout(SETTLED)
    page.evaluate("scrollTo(0, 0)")
    picture(page, "ask", "main")


def watch_runs(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    page.click("#tab-runs")
    page.click('[data-run^="hwf"]')
    page.wait_for_selector("#run-report:not([hidden])")
    page.wait_for_timeout(SETTLED)
    picture(page, "runs")


def phone_and_dark(browser: Browser, address: str) -> None:
    phone = opened(browser, address, phone=True)
    write(phone, "3 × 4")
    picture(phone, "phone")
    dark = opened(browser, address, dark=True)
    write(dark, "2 + 5 × 3")
    correct(dark, "10", 8)
    picture(dark, "dark")


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    runs = sys.argv[1] if len(sys.argv) > 1 else "runs"
    with serving("--runs", runs) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=sandbox)
        for view in (draw_correct_learn, ask, watch_runs, phone_and_dark):
            view(browser, server.address)
        browser.close()


if __name__ == "__main__":
    main()
