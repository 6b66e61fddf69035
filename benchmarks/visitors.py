"""Many visitors drawing at once: starts `ngs serve`, sends what their pages would send, and says how it went.

    python benchmarks/visitors.py RUN --visitors 50 --seconds 60

Each visitor writes formulas stroke by stroke, and after each stroke the page asks what is read. Only the
server's memory is measured, but the visitors need a part of the same processors.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from dataclasses import dataclass, field
from statistics import quantiles

import httpx2
import psutil

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
FORMULAS = ["3*4", "7+1", "4-2", "1+2*3", "7*4-3", "2+4*7-1"]
PARTS = 6
"""Of the time, after each of which memory is looked at; the visitors of each are new."""
SPACE, SIZE = 90, 70
"""Pixels from a symbol to the next, and of a symbol."""


@dataclass
class Seen:
    """How it went."""

    seconds: list[float] = field(default_factory=list)
    """of each answer"""
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


async def visit(url: str, rng: random.Random, pause: float, end: float, seen: Seen) -> None:
    """Write formula after formula; a page asks again only when it has its answer."""
    async with httpx2.AsyncClient(base_url=url, timeout=30) as client:
        await client.get("/")
        await asyncio.sleep(rng.uniform(0, pause))
        while time.monotonic() < end:
            strokes = written(rng.choice(FORMULAS), rng)
            for count in range(1, len(strokes) + 1):
                drawing = {"strokes": strokes[:count], "width": 800, "height": 200}
                begin = time.monotonic()
                try:
                    answer = await client.post("/api/read", json=drawing)
                    if answer.status_code != 200:
                        seen.errors.append(f"{answer.status_code} {answer.text[:100]}")
                except httpx2.HTTPError as error:
                    seen.errors.append(repr(error))
                seen.seconds.append(time.monotonic() - begin)
                if time.monotonic() > end:
                    return
                await asyncio.sleep(rng.uniform(0.5, 1.5) * pause)


async def all_visit(url: str, visitors: int, pause: float, seconds: float, seed: int, seen: Seen) -> None:
    end = time.monotonic() + seconds
    hands = [random.Random(f"{seed} {k}") for k in range(visitors)]
    await asyncio.gather(*(visit(url, hand, pause, end, seen) for hand in hands))


def summary(seen: Seen) -> dict[str, float | int]:
    cuts = quantiles(seen.seconds, n=100, method="inclusive")
    return {
        "requests": len(seen.seconds),
        "errors": len(seen.errors),
        "p50_ms": round(1000 * cuts[49], 1),
        "p95_ms": round(1000 * cuts[94], 1),
        "longest_ms": round(1000 * max(seen.seconds), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("run", help="folder of a run of `ngs train hwf`")
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds from an answer to the next stroke")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    begin = time.monotonic()
    with serving(given.run) as server:
        url, process = server.address, psutil.Process(server.pid)
        httpx2.get(f"{url}api/status").raise_for_status()
        start_seconds = time.monotonic() - begin
        alone, together = Seen(), Seen()
        asyncio.run(all_visit(url, 1, 0.05, 5.0, given.seed, alone))
        memory = [process.memory_info().rss]
        for part in range(PARTS):
            seed, seconds = given.seed + 1 + part, given.seconds / PARTS
            asyncio.run(all_visit(url, given.visitors, given.pause, seconds, seed, together))
            memory.append(process.memory_info().rss)
    results = {
        **vars(given),
        "start_seconds": round(start_seconds, 2),
        "alone": summary(alone),
        "together": summary(together),
        "memory_mb": [round(rss / 1e6, 1) for rss in memory],
        "first_errors": together.errors[:3],
    }
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
