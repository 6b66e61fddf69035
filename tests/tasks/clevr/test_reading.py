"""A reader reads one question as it reads many, and says what it did not know."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ngs.errors import ParseError
from ngs.grammar.constraint import enumerate_sentences
from ngs.networks.pointer import Asked
from ngs.tasks.clevr.batched_execution import SceneTables
from ngs.tasks.clevr.examples import Part
from ngs.tasks.clevr.program import program_of
from tests.tasks.clevr.programs import LANGUAGES
from tests.tasks.clevr.readers import random_reader, some_questions


def test_one_question_is_read_as_in_a_batch() -> None:
    reader, data = random_reader(0), some_questions()
    part = Part.of(data.train, SceneTables.of(data.scenes), reader.language)
    batch = part.examples.batch(np.arange(40))
    with torch.no_grad():
        best = part.reasoner().distribution(reader.network(batch.inputs), batch).best()
    for k in range(40):
        (found,) = reader.read(" ".join(data.train.text_words(k))).programs
        assert found.program == program_of(best.symbols[k].tolist())
        assert found.log_prob == pytest.approx(best.log_probs[k].item(), abs=1e-4)


def test_the_likeliest_programs_are_those_of_an_enumeration() -> None:
    reader, text = random_reader(1), "how many red cubes are left of the big sphere?"
    p = reader.distribution(text)
    every = enumerate_sentences(reader.language, p.given, 1000).sentences
    with torch.no_grad():
        ranked = p.score(every.new_zeros(len(every)), every).sort(descending=True)
    reading = reader.read(text, 1000)
    assert len(reading.programs) == len(every) > 5
    assert sum(each.probability for each in reading.programs) == pytest.approx(1)
    assert [each.program for each in reading.programs] == [
        program_of(every[k].tolist()) for k in ranked.indices
    ]
    assert [each.log_prob for each in reading.programs] == pytest.approx(ranked.values.tolist(), abs=1e-4)


def test_the_dictionary_says_which_phrase_speaks_of_which_module() -> None:
    reading = random_reader(0).read("How many red cubes are left of the big sphere?")
    assert ("relate[left]", "left of") in reading.understood.reading
    assert ("filter_size[large]", "big") in reading.understood.reading
    assert sorted(reading.programs[0].program) == sorted(reading.understood.modules)


def test_words_that_training_lacked_are_reported_and_read_as_unknown() -> None:
    reader = random_reader(0)
    fewer = replace(
        reader, vocabulary=("<unknown>", *("?" if w == "red" else w for w in reader.vocabulary[1:]))
    )
    text = "how many red things are right of the red cube"
    assert reader.read(text).unseen == () and fewer.read(text).unseen == ("red",)
    asked: list[Asked] = []
    handle = fewer.network.register_forward_pre_hook(lambda _, given: asked.extend(given))
    fewer.distribution(text)
    handle.remove()
    assert [k for k, number in enumerate(asked[0].words[0].tolist()) if number == 0] == [2, 8]


@pytest.mark.parametrize("language", [LANGUAGES["grammar"], LANGUAGES["any order"]], ids=["free", "none"])
def test_other_languages_are_read_as_well(language) -> None:
    reading = random_reader(0, language).read("how many red blue cubes are there")
    assert sorted(reading.programs[0].program) == sorted(reading.understood.modules)


def test_what_cannot_be_read_is_refused() -> None:
    reader = random_reader(0)
    with pytest.raises(ParseError, match="not in the dictionary: 'frobs' \\(word 3"):
        reader.read("how many frobs are there")
    with pytest.raises(ParseError, match="the question is empty"):
        reader.read("?!")
    with pytest.raises(ParseError, match="has 2,004 characters; ask one of at most 2,000"):
        reader.read("red " * 501)


@pytest.mark.parametrize("k", [1, 5])
def test_two_values_of_one_attribute_for_one_thing_are_refused(k) -> None:
    with pytest.raises(
        ParseError, match=r"names 2 values of one attribute, color \(red, blue\), for 1 thing"
    ):
        random_reader(0).read("how many red blue cubes are there", k)
    text = "how many metal small red spheres are left of the green blue cube"
    with pytest.raises(ParseError, match=r"3 values of one attribute, color .*, for 2 things"):
        random_reader(0).read(text, k)
