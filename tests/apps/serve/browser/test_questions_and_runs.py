"""Ask about a scene, and watch runs, in a real browser."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from ngs.experiments.record import read_rows
from ngs.tasks.hwf.settings import TrainHWF
from ngs.tasks.run_folder import CONFIG, METRICS, RESULT
from tests.experiments.training import train

pytestmark = pytest.mark.xdist_group("browser")  # who trains what they look at trains it once


def test_a_question_is_answered_step_by_step(new_page) -> None:
    page = new_page("#ask")
    expect(page.locator("#scene .thing").first).to_be_visible()
    things = page.locator("#scene .thing").count()
    with page.expect_response("**/api/ask") as asked:
        page.locator("#question-examples button").first.click()
    told = asked.value.json()
    expect(page.locator("#asked-answer")).to_have_text(told["answer"] or "no answer")
    steps = page.locator("#program .step")
    expect(steps.first).to_have_text(f"scene{things} objects")
    while page.locator("#program-previous").is_enabled():
        page.click("#program-previous")
    expect(page.locator("#program .current")).to_contain_text("scene")
    expect(page.locator("#scene .chosen")).to_have_count(things)
    frames = page.locator("#picture-boxes rect")
    expect(frames.first).to_be_attached()
    assert frames.count() <= things  # some may be hidden behind others
    expect(page.locator("#picture-boxes .chosen")).to_have_count(frames.count())
    page.click("#program-next")
    expect(steps.nth(1)).to_contain_class("current")
    steps.last.hover()
    expect(page.locator("#scene-caption")).to_contain_text(steps.last.locator("span").inner_text())


def test_the_picture_changes_with_the_scene_and_has_frames(new_page) -> None:
    page = new_page("#ask")
    picture = page.locator("#picture")
    expect(picture).to_have_attribute("src", "/api/scenes/0/picture")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 480
    page.click("#scene-next")
    expect(picture).to_have_attribute("src", "/api/scenes/1/picture")
    expect(page.locator("#picture-boxes rect").first).to_be_attached()
    expect(page.locator("#picture-boxes .chosen")).to_have_count(0)
    around, inside = picture.bounding_box(), page.locator("#picture-boxes").bounding_box()
    assert around is not None and inside is not None
    for side in ("x", "y", "width", "height"):
        assert inside[side] == pytest.approx(around[side], abs=1), side
    for _ in range(2):
        page.click("#scene-previous")
    expect(page.locator("#scene-name")).to_contain_text("Scene 12 of 12")
    page.click("#scene-next")
    expect(page.locator("#scene-name")).to_contain_text("Scene 1 of 12")


def test_one_may_ask_in_ones_own_words(new_page) -> None:
    page = new_page("#ask")
    expect(page.locator("#scene-name")).not_to_be_empty()
    page.fill("#question", "How many things are there?")
    page.press("#question", "Enter")
    expect(page.locator("#program .step").first).to_contain_text("scene")
    expect(page.locator("#understood span").first).to_be_visible()


def test_a_wrong_program_is_corrected(new_page) -> None:
    page = new_page("#ask")
    for _ in range(12):
        expect(page.locator("#question-examples button").first).to_be_visible()
        if page.locator("#question-examples .misread").count():
            break
        name = page.inner_text("#scene-name")
        page.click("#scene-next")
        expect(page.locator("#scene-name")).not_to_have_text(name)
    else:
        pytest.skip("this network answers everything rightly")
    page.locator("#question-examples .misread").click()
    expect(page.locator("#asked-note")).to_contain_text("The true answer is")
    page.click("#ask-correct")
    expect(page.locator("#ask-verdict")).not_to_be_empty()
    expect(page.locator("#neighbours .bar, #ask-posterior .bar").first).to_be_visible()


def test_an_answer_about_another_scene_is_dropped(new_page) -> None:
    page = new_page("#ask")
    expect(page.locator("#scene-name")).to_contain_text("Scene 1 of 12")
    held: list[Route] = []
    page.route("**/api/ask", lambda route: held.append(route))
    with page.expect_request("**/api/ask"):
        page.locator("#question-examples button").first.click()
    page.click("#scene-next")
    expect(page.locator("#scene-name")).to_contain_text("Scene 2 of 12")
    with page.expect_response("**/api/ask"):
        held[0].continue_()
    expect(page.locator("#ask")).to_be_enabled()
    expect(page.locator("#asked")).to_be_hidden()
    expect(page.locator("#scene-caption")).to_be_empty()


def points(page: Page, name: str) -> int:
    return int(page.get_attribute(name, "data-points") or 0)


def test_a_crashed_run_turns_into_a_stopped_one(new_page, runs: Path) -> None:
    crashed = shutil.copytree(runs / "handwriting", runs / "crashed", copy_function=shutil.copyfile)
    (crashed / RESULT).unlink()
    page = new_page("#runs")
    expect(page.locator("#run-title")).to_have_text("crashed")  # the one that is running is shown first
    expect(page.locator("#run-state")).to_have_text("training")
    for path in crashed.iterdir():
        os.utime(path, (1.0, 1.0))  # as if that were long ago
    expect(page.locator("#run-state")).to_have_text("stopped")
    expect(page.locator('[data-run="crashed"] .dot')).to_contain_class("stopped")
    shutil.rmtree(crashed)


def test_folders_that_are_no_runs_are_told(new_page, runs: Path) -> None:
    page = new_page("#runs")
    expect(page.locator("#run")).to_be_visible()
    expect(page.locator("#runs-skipped")).to_be_hidden()
    odd = runs / "odd"
    odd.mkdir()
    (odd / CONFIG).write_text("{")
    page.click("#tab-ask")
    page.click("#tab-runs")
    page.click("summary:has-text('1 folder could not be shown')")
    expect(page.locator("#skipped")).to_contain_text("odd config.json is damaged")
    shutil.rmtree(odd)


def test_a_curve_grows_though_its_stream_is_lost_for_a_while(
    new_page, runs: Path, complaints: list[str]
) -> None:
    training = train(TrainHWF(steps=30, validate_every=30, lengths=(1, 3), seed=2), runs / "lost")
    next(training)
    page = new_page()
    expect(page.locator("#score dd")).to_have_count(3)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.split("/api/")[-1].split("?")[0]))

    def refuse_the_first(route: Route) -> None:
        if asked.count("runs/lost/events") == 1:
            route.fulfill(status=503, json={"error": "busy"})
        else:
            route.continue_()

    page.route("**/api/runs/lost/events*", refuse_the_first)
    page.click("#tab-runs")
    expect(page.locator("#run-title")).to_have_text("lost")
    expect(page.locator("#run-state")).to_have_text("training")
    before = points(page, "#curve-loss")
    expect(page.locator("#run-facts")).to_contain_text("trying again")
    expect(page.locator("#run-facts")).to_contain_text("Step")
    assert asked.count("runs/lost/events") == 2 and asked.count("runs") == asked.count("runs/lost") == 1
    for _ in training:
        pass
    expect(page.locator("#run-state")).to_have_text("finished")
    assert points(page, "#curve-loss") == 3 > before and points(page, "#curve-accuracy") >= 1
    assert all("503" in each or "/events" in each for each in complaints)
    complaints.clear()


def test_runs_are_listed_with_their_curves(new_page, runs: Path) -> None:
    written = sum("loss" in row for row in read_rows(runs / "handwriting" / METRICS))
    page = new_page("#runs")
    page.click('[data-run="handwriting"]')
    expect(page.locator("#run-title")).to_have_text("handwriting")
    expect(page.locator("#curve-loss")).to_have_attribute("data-points", str(written))
    expect(page.locator("#curve-accuracy .line")).to_be_visible()
    page.click("summary:has-text('Settings')")
    expect(page.locator("#run-settings")).to_contain_text("posterior")


def test_results_are_tables(new_page) -> None:
    page = new_page("#runs")
    shown = page.frame_locator("#results-list details[open] iframe")
    expect(shown.locator("table").first).to_be_visible()
    expect(shown.locator("td").first).not_to_be_empty()
