"""What the playground promises, measured: how soon it is there, how soon a stroke is read, and many visitors.

    python benchmarks/visitors.py RUN

Starts `ngs serve RUN` several times; draws in a real Chromium; then sends the requests of many visitors.
Prints figures as JSON, and ends with 1 where a promise was not kept. Nothing else should run on the machine;
`load` says whether it did.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import httpx2
import numpy as np
import psutil
from playwright.sync_api import Page, sync_playwright

from ngs.apps.serve.child import Served, serving
from ngs.tasks.hwf.playground.strokes import written

Stroke = list[list[float]]

FORMULAS = {"3*4": "12", "7+1": "8", "4-2": "2", "1+2*3": "7", "7*4-3": "25", "2+4*7-1": "29"}
"""With their answers."""
WIDTH, HEIGHT = 800, 200
EVERY, UNSTEADY = 6, 2.0
"""Of the points of a neat stroke, that a pen goes through; and the most pixels that it is off."""
LOOK_SECONDS = 0.5  # between looks at the server's memory
ATTEMPTS = 5  # of a page, while the server is busy

PROMISED = {
    "page_seconds": 3.0,  # from the start of the process until the page is there, in the median
    "stroke_ms_p95": 100.0,  # from the end of a stroke until it is read
    "errors": 0.0,
    "answer_ms_p95": 500.0,  # with many visitors
    "growth_mb": 15.0,  # of the server from the second third of the time to the last, each at its lowest
}
"""At most. What learners keep makes the server grow; the first third is a warm-up."""


@dataclass
class Seen:
    read_seconds: list[float] = field(default_factory=list)
    learn_seconds: list[float] = field(default_factory=list)
    busy: int = 0
    errors: list[str] = field(default_factory=list)


def by_hand(formula: str, rng: random.Random) -> list[Stroke]:
    """The strokes of a formula, in an unsteady hand."""

    def near(x: float) -> float:
        return x + rng.uniform(-UNSTEADY, UNSTEADY)

    neat = written(formula, WIDTH, HEIGHT)
    return [[[near(x), near(y)] for x, y in (*stroke[:-1:EVERY], stroke[-1])] for stroke in neat]


def started(run: str) -> dict[str, float]:
    """Seconds from the start of the process until the page is there, and until a drawing is read."""
    begin = time.monotonic()
    drawing = {"strokes": by_hand("3*4", random.Random(0)), "width": WIDTH, "height": HEIGHT}
    with serving(run) as server:
        httpx2.get(server.address).raise_for_status()
        page = time.monotonic() - begin
        httpx2.post(f"{server.address}api/read", json=drawing, timeout=60).raise_for_status()
        return {"page": round(page, 2), "read": round(time.monotonic() - begin, 2)}


def in_ms(seconds: Sequence[float]) -> dict[str, float]:
    if not seconds:
        return {"number": 0}
    p50, p95, longest = (1000 * np.quantile(seconds, (0.5, 0.95, 1.0))).tolist()
    return {"number": len(seconds), "p50": p50, "p95": p95, "longest": longest}


def all_starts(given: argparse.Namespace) -> dict[str, Any]:
    starts = [started(given.run) for _ in range(given.starts)]
    return {"start_seconds": starts, "page_seconds": median(each["page"] for each in starts)}


WATCH = """() => {
    const [canvas, result] = ["canvas", "result"].map((id) => document.getElementById(id));
    let lifted = null;
    window.waits = [];
    canvas.addEventListener("pointerup", (event) => (lifted = event.timeStamp), true);
    new MutationObserver(() => {
        if (lifted === null || result.getAttribute("aria-busy") !== "false") return;
        window.waits.push(performance.now() - lifted);
        lifted = null;
    }).observe(result, { attributeFilter: ["aria-busy"] });
}"""
"""Milliseconds from a pointer's being lifted until everything that was read is on the page."""


def drawn(page: Page, strokes: int, rng: random.Random) -> Iterator[float]:
    """Draw formulas with the mouse, each stroke when the last one was read."""
    page.wait_for_selector("#score dd")
    page.evaluate(WATCH)
    sheet = page.locator("#canvas").bounding_box()
    assert sheet is not None
    done = 0
    while done < strokes:
        page.click("#clear", force=True)
        for stroke in by_hand(rng.choice(list(FORMULAS)), rng)[: strokes - done]:
            (x, y), *rest = [(sheet["x"] + x, sheet["y"] + y) for x, y in stroke]
            page.mouse.move(x, y)
            page.mouse.down()
            for x, y in rest:
                page.mouse.move(x, y)
            page.mouse.up()
            done += 1
            while page.evaluate("window.waits.length") < done:
                page.wait_for_timeout(50)
    yield from page.evaluate("window.waits")


def in_a_browser(server: Served, given: argparse.Namespace) -> dict[str, Any]:
    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=sandbox)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(server.address)
        waits = in_ms([ms / 1000 for ms in drawn(page, given.strokes, random.Random(given.seed))])
        browser.close()
    return {"stroke_ms": waits, "stroke_ms_p95": waits["p95"]}


async def asked(client: httpx2.AsyncClient, path: str, body: dict[str, Any], seen: Seen) -> float:
    """Send a request as the page does; seconds until its answer, with all waiting."""
    begin = time.monotonic()
    try:
        for attempt in range(1, ATTEMPTS + 1):
            answer = await client.post(path, json=body)
            if answer.status_code != 503 or attempt == ATTEMPTS:
                break
            seen.busy += 1
            await asyncio.sleep(float(answer.headers["Retry-After"]))
        if answer.status_code != 200:
            seen.errors.append(f"{path} {answer.status_code} {answer.text[:100]}")
    except httpx2.HTTPError as error:
        seen.errors.append(f"{path} {error!r}")
    return time.monotonic() - begin


async def visit(url: str, rng: random.Random, learns: bool, pause: float, end: float, seen: Seen) -> None:
    """Write formula after formula, and teach each of them if one learns."""
    async with httpx2.AsyncClient(base_url=url, timeout=30) as client:
        await client.get("/")
        await asyncio.sleep(rng.uniform(0, pause))
        while True:
            formula, answer = rng.choice(list(FORMULAS.items()))
            strokes = by_hand(formula, rng)
            drawing = {"width": WIDTH, "height": HEIGHT, "network": "mine"}
            for count in range(1, len(strokes) + 1):
                body = {**drawing, "strokes": strokes[:count]}
                seen.read_seconds.append(await asked(client, "/api/read", body, seen))
                await asyncio.sleep(rng.uniform(0.5, 1.5) * pause)
                if time.monotonic() > end:
                    return
            if learns:
                body = {**drawing, "strokes": strokes, "answer": answer, "steps": 10}
                seen.learn_seconds.append(await asked(client, "/api/learn", body, seen))


async def all_visit(server: psutil.Process, url: str, given: argparse.Namespace) -> tuple[Seen, list[float]]:
    """What the visitors saw, and the server's memory on the way, in MB."""
    seen, memory, end = Seen(), [], time.monotonic() + given.seconds
    hands = [random.Random(f"{given.seed} {k}") for k in range(given.visitors)]
    visits = [
        asyncio.create_task(visit(url, hand, k < given.learners, given.pause, end, seen))
        for k, hand in enumerate(hands)
    ]
    while time.monotonic() < end:
        await asyncio.sleep(LOOK_SECONDS)
        memory.append(server.memory_info().rss / 1e6)
    await asyncio.gather(*visits)
    return seen, memory


def many_visit(server: Served, given: argparse.Namespace) -> dict[str, Any]:
    seen, memory = asyncio.run(all_visit(psutil.Process(server.pid), server.address, given))
    third = max(1, len(memory) // 3)
    lowest = [round(min(memory[k * third : (k + 1) * third]), 1) for k in range(3)]
    read = in_ms(seen.read_seconds)
    return {
        "read_ms": read,
        "learn_ms": in_ms(seen.learn_seconds),
        "busy": seen.busy,
        "first_errors": seen.errors[:3],
        "lowest_mb": lowest,  # in each third of the time: on top of it is what is needed just then
        "most_mb": round(max(memory), 1),
        "errors": len(seen.errors),
        "answer_ms_p95": read["p95"],
        "growth_mb": round(lowest[2] - lowest[1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", help="folder of a run of `ngs train hwf`")
    parser.add_argument("--starts", type=int, default=5, help="of the server; 0: do not measure that")
    parser.add_argument("--strokes", type=int, default=30, help="in a browser; 0: do not measure that")
    parser.add_argument("--visitors", type=int, default=50, help="at once; 0: do not measure that")
    parser.add_argument("--learners", type=int, default=3, help="of the visitors")
    parser.add_argument("--seconds", type=float, default=60.0, help="that the visitors stay")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds from an answer to the next stroke")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    measured: dict[str, Any] = {}
    if given.starts:
        measured |= all_starts(given)
    with serving(given.run) as server:
        httpx2.get(f"{server.address}api/status", timeout=60).raise_for_status()
        time.sleep(10)  # what is prepared beside serving is done by then
        for number, measure in ((given.strokes, in_a_browser), (given.visitors, many_visit)):
            if number:
                measured[f"load before {measure.__name__}"] = os.getloadavg()
                measured |= measure(server, given)
    kept = {name: measured[name] <= most for name, most in PROMISED.items() if name in measured}
    print(json.dumps({**vars(given), **measured, "promised": PROMISED, "kept": kept}, indent=2))
    sys.exit(0 if all(kept.values()) else 1)


if __name__ == "__main__":
    main()
