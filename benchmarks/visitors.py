"""What the playground promises, measured: how soon it is there, how soon a stroke is read, and many visitors.

    python benchmarks/visitors.py RUN

Starts `ngs serve RUN` several times; draws in a real Chromium; then sends what the pages of many visitors
would send. Says how it went, as JSON, and ends with 1 where a promise was not kept. Everything needs the same
processors: nothing else should run beside it, and `load` says whether it did.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from statistics import median, quantiles
from typing import Any

import httpx2
import psutil
from playwright.sync_api import Page, sync_playwright

from ngs.apps.serve.child import serving

Stroke = list[list[float]]

# How symbols are written in a square of 100.
SYMBOLS: dict[str, list[Stroke]] = {
    "1": [[[50, 5], [50, 95]]],
    "2": [[[20, 30], [35, 8], [65, 8], [78, 30], [60, 55], [20, 92], [82, 92]]],
    "3": [[[22, 15], [50, 5], [75, 20], [70, 40], [45, 48], [75, 58], [78, 80], [50, 95], [20, 85]]],
    "4": [[[60, 5], [15, 65], [85, 65]], [[62, 40], [62, 95]]],
    "7": [[[15, 8], [85, 8], [40, 95]]],
    "+": [[[50, 20], [50, 80]], [[20, 50], [80, 50]]],
    "-": [[[15, 50], [85, 50]]],
    "*": [[[20, 20], [80, 80]], [[80, 20], [20, 80]]],
}
FORMULAS = {"3*4": "12", "7+1": "8", "4-2": "2", "1+2*3": "7", "7*4-3": "25", "2+4*7-1": "29"}
"""With their answers."""
SPACE, SIZE = 90, 70
"""Pixels from a symbol to the next, and of a symbol."""
WIDTH, HEIGHT = 800, 200
LOOK_SECONDS = 0.5
"""Between looks at the server's memory."""
ATTEMPTS = 5
"""Of a page, while the server is busy."""

START_SECONDS = 3.0
"""Until the page is there."""
STROKE_MS = 100.0
"""From the end of a stroke until it is read, at the 95th percentile."""
ANSWER_MS = 500.0
"""With many visitors, at the 95th percentile."""
GROWTH_MB = 15.0
"""That the server may have more in the last third of the time than in the second, each at its lowest: what
learners keep. In the first third, everything is there for the first time."""


@dataclass
class Seen:
    """How it went."""

    read_seconds: list[float] = field(default_factory=list)
    """of each answer"""
    learn_seconds: list[float] = field(default_factory=list)
    busy: int = 0
    """answers that asked to come again"""
    errors: list[str] = field(default_factory=list)


def written(formula: str, rng: random.Random) -> list[Stroke]:
    """The strokes of a formula, in an unsteady hand."""

    def point(x: float, y: float, place: int) -> list[float]:
        return [
            20 + SPACE * place + SIZE / 100 * x + rng.uniform(-2, 2),
            40 + SIZE / 100 * y + rng.uniform(-2, 2),
        ]

    return [
        [point(x, y, place) for x, y in stroke]
        for place, symbol in enumerate(formula)
        for stroke in SYMBOLS[symbol]
    ]


# Starts


def started(run: str) -> dict[str, float]:
    """Seconds from the start of the process until the page is there, and until a drawing is read."""
    begin = time.monotonic()
    drawing = {"strokes": written("3*4", random.Random(0)), "width": WIDTH, "height": HEIGHT}
    with serving(run) as server:
        httpx2.get(server.address).raise_for_status()
        page = time.monotonic() - begin
        httpx2.post(f"{server.address}api/read", json=drawing, timeout=60).raise_for_status()
        return {"page": round(page, 2), "read": round(time.monotonic() - begin, 2)}


# Strokes in a browser

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
        for stroke in written(rng.choice(list(FORMULAS)), rng)[: strokes - done]:
            (x, y), *rest = [(sheet["x"] + x, sheet["y"] + y) for x, y in stroke]
            page.mouse.move(x, y)
            page.mouse.down()
            for x, y in rest:
                page.mouse.move(x, y, steps=3)
            page.mouse.up()
            done += 1
            while page.evaluate("window.waits.length") < done:
                page.wait_for_timeout(50)
    yield from page.evaluate("window.waits")


def in_a_browser(url: str, strokes: int, seed: int) -> list[float]:
    sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=sandbox)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        waits = list(drawn(page, strokes, random.Random(seed)))
        browser.close()
    return waits


# Many visitors


async def asked(client: httpx2.AsyncClient, path: str, body: dict[str, Any], seen: Seen) -> float:
    """As the page asks; seconds until it has its answer, those included that it waits as it is told."""
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
            strokes = written(formula, rng)
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
    """How it went, and the server's memory on the way, in MB."""
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


def lowest(memory: list[float]) -> list[float]:
    """In each third of the time: on top of it is what is needed just then."""
    third = max(1, len(memory) // 3)
    return [round(min(memory[k * third : (k + 1) * third]), 1) for k in range(3)]


# All of it


def in_ms(seconds: list[float]) -> dict[str, float]:
    if len(seconds) < 2:
        return {"number": len(seconds)}
    cuts = quantiles(seconds, n=100, method="inclusive")
    shown = {"p50": cuts[49], "p95": cuts[94], "longest": max(seconds)}
    return {"number": len(seconds), **{name: round(1000 * each, 1) for name, each in shown.items()}}


@dataclass(frozen=True)
class Promise:
    """What is said of the playground, and whether it was so."""

    promise: str
    measured: float
    kept: bool


def load() -> list[float]:
    """Processes that wanted a core, on average over the last 1, 5 and 15 minutes."""
    return [round(each, 1) for each in os.getloadavg()]


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
    results: dict[str, Any] = {**vars(given), "load": load()}
    promises: list[Promise] = []

    if given.starts:
        results["start_seconds"] = [started(given.run) for _ in range(given.starts)]
        typical = median(each["page"] for each in results["start_seconds"])
        promises.append(
            Promise(f"the page is there in {START_SECONDS:g} s", typical, typical < START_SECONDS)
        )
    with serving(given.run) as server:
        httpx2.get(f"{server.address}api/status", timeout=60).raise_for_status()
        time.sleep(10)  # what is prepared beside serving is done by then
        if given.strokes:
            results["load_at_strokes"] = load()
            waits = in_a_browser(server.address, given.strokes, given.seed)
            results["stroke_ms"] = in_ms([each / 1000 for each in waits])
            slow = results["stroke_ms"]["p95"]
            promises.append(
                Promise(f"a stroke is read within {STROKE_MS:g} ms (p95)", slow, slow < STROKE_MS)
            )
        if given.visitors:
            process = psutil.Process(server.pid)
            results["load_at_visitors"] = load()
            seen, memory = asyncio.run(all_visit(process, server.address, given))
            results |= {"read_ms": in_ms(seen.read_seconds), "learn_ms": in_ms(seen.learn_seconds)}
            results |= {"busy": seen.busy, "first_errors": seen.errors[:3]}
            results["memory_mb"] = {"lowest": lowest(memory), "most": round(max(memory), 1)}
            _, before, after = results["memory_mb"]["lowest"]
            slow, grown = results["read_ms"]["p95"], round(after - before, 1)
            promises += [
                Promise("no errors", len(seen.errors), not seen.errors),
                Promise(f"many are answered within {ANSWER_MS:g} ms (p95)", slow, slow < ANSWER_MS),
                Promise(f"memory grows by less than {GROWTH_MB:g} MB", grown, grown < GROWTH_MB),
            ]
    results["promises"] = [asdict(each) for each in promises]
    print(json.dumps(results, indent=2))
    sys.exit(0 if all(each.kept for each in promises) else 1)


if __name__ == "__main__":
    main()
