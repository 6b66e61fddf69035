"""The page around its views: tabs, light and dark, small screens, and a server without a network."""

import pytest
from playwright.sync_api import Page, Route, expect

from tests.apps.serve.browser.pen import draw

pytestmark = pytest.mark.xdist_group("browser")  # who trains what they look at trains it once


def test_tabs_by_arrow_keys_and_address(page: Page, new_page) -> None:
    page.focus("#tab-draw")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#view-ask")).to_be_visible()
    expect(page.locator("#view-draw")).to_be_hidden()
    expect(page.locator("#tab-ask")).to_be_focused()
    assert page.evaluate("location.hash") == "#ask"
    page.keyboard.press("End")
    expect(page.locator("#tab-runs")).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect(page.locator("#view-ask")).to_be_visible()
    expect(new_page("#runs").locator("#view-runs")).to_be_visible()


@pytest.mark.parametrize("view", ["draw", "ask", "runs"])
def test_nothing_is_wider_than_the_screen(view: str, new_page) -> None:
    page = new_page(f"#{view}", viewport={"width": 1000, "height": 844})
    if view == "draw":
        page.locator("#formula-examples button").last.click()
        expect(page.locator("#result")).to_contain_text("=")
        page.fill("#answer", "17/2")
        page.click("#correct")
        expect(page.locator("#verdict")).to_be_visible()
    if view == "ask":
        page.locator("#question-examples button").last.click()
        expect(page.locator("#asked")).to_be_visible()
    if view == "runs":
        expect(page.locator("#run")).to_be_visible()
    for width in (1000, 700, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_function("width => window.innerWidth === width", arg=width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def lightness(page: Page, name: str) -> float:
    """Of the background, from 0 to 1."""
    colour = page.locator(name).evaluate("node => getComputedStyle(node).backgroundColor")
    return sum(float(part) for part in colour.strip("rgb()").split(",")[:3]) / (3 * 255)


def test_dark_as_the_system_has_it_until_one_chooses(new_page) -> None:
    page = new_page(color_scheme="dark")
    assert lightness(page, "body") < 0.2 and lightness(page, ".see") < 0.25
    expect(page.locator("#score dd")).to_have_count(3)
    page.click("#theme")
    assert lightness(page, "body") > 0.9
    page.reload()
    expect(page.locator("#tour")).not_to_be_empty()
    assert lightness(page, "body") > 0.9
    assert lightness(new_page(color_scheme="light"), "body") > 0.9


def test_text_has_enough_contrast(page: Page) -> None:
    """WCAG AA: 4.5 to 1, for what is quiet and what is coloured too."""
    pairs = [("--ink", "--paper"), ("--quiet", "--paper"), ("--quiet", "--sheet"), ("--accent", "--sheet")]
    pairs += [("--on-accent", "--accent"), ("--quiet", "--tint"), ("--accent", "--paper")]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for text, ground in pairs:
            assert page.evaluate(CONTRAST, [text, ground]) >= 4.5, (scheme, text, ground)


CONTRAST = """([text, ground]) => {
    const probe = document.body.appendChild(document.createElement('i'));
    const luminance = (name) => {
        probe.style.color = `var(${name})`;
        const parts = getComputedStyle(probe).color.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255);
        const [r, g, b] = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const [low, high] = [luminance(text), luminance(ground)].sort((a, b) => a - b);
    probe.remove();
    return (high + 0.05) / (low + 0.05);
}"""


def test_while_the_network_is_loaded_one_may_draw(page: Page) -> None:
    """The server answers when it is ready; here, when it is let."""
    held: list[Route] = []
    loaded = False

    def until_loaded(route: Route) -> None:
        if loaded:
            route.continue_()
        else:
            held.append(route)

    expect(page.locator("#score dd")).to_have_count(3)
    page.route("**/api/*", until_loaded)
    page.reload()
    expect(page.locator("#loading")).to_be_visible()
    draw(page, "3*4")
    expect(page.locator("#result")).to_have_attribute("aria-busy", "true")
    loaded = True
    for route in held:
        route.continue_()
    expect(page.locator("#loading")).to_be_hidden()
    expect(page.locator("#result")).to_have_text("3 × 4 = 12")
    expect(page.locator("#score dd")).to_have_count(3)


def test_without_a_network_one_can_be_trained(page: Page, server: str) -> None:
    """The page's part alone: its server has a network, so what it says about that is replaced."""
    status = page.request.get(f"{server}api/networks").json()
    nothing = {"ready": False, "accuracy": None, "symbols": None}
    missing = {"trained": nothing, "weak": nothing}
    trainings = [{"step": step, "steps": 150, "accuracy": share} for step, share in [(10, None), (150, 0.97)]]
    asked: list[str] = []

    def say_status(route: Route) -> None:
        if asked and not trainings:
            route.fulfill(json=status)
        else:
            training = trainings.pop(0) if asked else None
            route.fulfill(json={**status, "networks": missing, "training": training})

    def start(route: Route) -> None:
        asked.append(route.request.method)
        route.fulfill(status=202, json={"started": True})

    expect(page.locator("#score dd")).to_have_count(3)  # or the reload would interrupt a request
    page.route("**/api/networks", say_status)
    page.route("**/api/train", start)
    page.reload()
    expect(page.locator("#train")).to_be_visible()
    assert page.locator(".see").evaluate("panel => panel.inert")
    page.click("#train-start")
    expect(page.locator("#train-text")).to_have_text("step 150 of 150, 97% of new formulas right")
    expect(page.locator("#train-progress")).to_have_attribute("aria-valuenow", "100")
    expect(page.locator("#train")).to_be_hidden()
    assert not page.locator(".see").evaluate("panel => panel.inert")
    assert asked == ["POST"]
    expect(page.locator("#score dd")).to_have_count(3)


def test_there_are_tabs_only_for_what_the_server_has(page: Page) -> None:
    expect(page.locator("#score dd")).to_have_count(3)
    page.route("**/api/status", lambda route: route.fulfill(json={"views": {"ask": True}, "runs": True}))
    page.reload()
    expect(page.locator("#tab-draw")).to_be_hidden()
    expect(page.locator("#view-draw")).to_be_hidden()
    expect(page.locator("#view-ask")).to_be_visible()
    page.press("#tab-ask", "ArrowLeft")
    expect(page.locator("#view-runs")).to_be_visible()
