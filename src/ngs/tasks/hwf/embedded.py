"""Handwriting that needs no download: made up from a seed, with other writers for the test."""

from collections.abc import Callable, Mapping
from itertools import count
from random import Random

import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.tasks.hwf.dataset import GRAMMAR, SIDE, Formulas, HandwrittenFormulas, as_ink
from ngs.tasks.hwf.formulas import PAPER_LENGTHS, sample_formulas
from ngs.tasks.hwf.handwriting import Writer, chances, write, writer


def embedded(
    seed: int = 0,
    *,
    train: int = 2_000,
    test: int = 500,
    lengths: Mapping[int, float] = PAPER_LENGTHS,
    train_writers: int = 60,
    test_writers: int = 20,
) -> HandwrittenFormulas:
    """A data set like HWF, made in about two seconds; the same seed gives the same bytes.

    Every symbol of every formula has an image of its own, and every formula is in one hand. No writer of
    the test has written for training. Asking for more formulas leaves the first ones as they are.
    """
    images, columns, sources, learned = _part("train", seed, train, lengths, train_writers)
    others, theirs, others_from, judged = _part("test", seed, test, lengths, test_writers, len(images))
    return HandwrittenFormulas(
        "embedded",
        torch.cat([images, others]),
        torch.cat([columns, theirs]),
        sources + others_from,
        learned,
        judged,
    )


def embedded_digits(number: int, *, seed: int = 0, writers: int = 60) -> tuple[Tensor, Tensor]:
    """Return handwritten digits, for a first task of your own, as ink [number, 1, height, width] from 0 to 1,
    and what they are [number].

    `writers` hands write them, all made up from the seed. Another seed, for a test, means other hands and
    other digits.

    >>> images, digits = embedded_digits(5)
    >>> images.shape, digits.tolist()
    (torch.Size([5, 1, 45, 45]), [4, 9, 3, 0, 3])
    """
    _check_numbers(number, writers, "digits")
    generator = torch.Generator().manual_seed(seed)
    digits = torch.randint(10, (number,), generator=generator)
    hands = torch.randint(writers, (number,), generator=generator)
    columns = torch.tensor(GRAMMAR.encode("0123456789"))[digits]
    chance = chances(number, generator)
    return as_ink(_in_hands(hands, lambda _: writer(generator), columns, chance)), digits


def _part(
    name: str, seed: int, number: int, lengths: Mapping[int, float], writers: int, first: int = 0
) -> tuple[Tensor, Tensor, tuple[str, ...], Formulas]:
    """The images of some formulas in order, numbered from `first`, with columns and sources; the formulas."""
    _check_numbers(number, writers, f"formulas of the part `{name}`")
    sampled = sample_formulas(number, lengths, _random(seed, name))
    chosen = [_random(seed, name, "choice", k).randrange(writers) for k in range(number)]
    sentences = [sentence for sentence, _ in sampled]
    columns = torch.tensor([column for sentence in sentences for column in GRAMMAR.encode(sentence)])
    chance = torch.cat(
        [chances(len(each), _generator(seed, name, "formula", k)) for k, each in enumerate(sentences)]
    )
    hands = torch.tensor([who for who, sentence in zip(chosen, sentences, strict=True) for _ in sentence])
    images = _in_hands(hands, lambda who: writer(_generator(seed, name, "writer", who)), columns, chance)
    numbers = count(first)
    rows = [[next(numbers) for _ in sentence] for sentence in sentences]
    formulas = Formulas.of(rows, (value for _, value in sampled), (f"{name} {k}" for k in range(number)))
    sources = tuple(f"writer {who} of {name}" for who in hands.tolist())
    return images, columns.to(torch.uint8), sources, formulas


def _check_numbers(number: int, writers: int, what: str) -> None:
    if number < 1 or writers < 1:
        raise NGSError(f"{number} {what} by {writers} writers were asked for; ask for at least one of each")


def _in_hands(hands: Tensor, writer_of: Callable[[int], Writer], columns: Tensor, chance: Tensor) -> Tensor:
    """uint8 [symbol, SIDE, SIDE]: the symbols `columns`, each by the writer of its number in `hands`."""
    images = torch.empty(len(columns), SIDE, SIDE, dtype=torch.uint8)
    for who in sorted(set(hands.tolist())):
        own = hands == who
        images[own] = write(writer_of(who), columns[own], chance[own])
    return images


def _random(*key: object) -> Random:
    """Chance of its own for each key, so that no draw depends on how many others there are."""
    return Random(" ".join(map(str, key)))


def _generator(*key: object) -> torch.Generator:
    return torch.Generator().manual_seed(_random(*key).getrandbits(63))
