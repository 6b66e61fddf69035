"""The dictionary gives the modules of a question's program, in the official wording and in other people's."""

from collections import Counter
from collections.abc import Iterator

import pytest

from ngs.errors import ParseError
from ngs.grammar.automaton import prefix_automaton
from ngs.tasks.clevr.cues import words_of
from ngs.tasks.clevr.dictionary import Understood, modules_of
from ngs.tasks.clevr.program import GRAMMAR, MODULES, Kind, kind_of
from tests.tasks.clevr.official_files import published_data
from tests.tasks.clevr.programs import program_of


def understood(text: str) -> Understood:
    return modules_of(words_of(text))


@pytest.mark.parametrize("part", ["train", "validation"])
def test_official_wording_gives_the_modules_of_the_program(part: str) -> None:
    questions = getattr(published_data(), part)
    wrong = []
    for k in range(len(questions)):
        words = questions.text_words(k)
        found = modules_of(words)
        if Counter(found.modules) != Counter(questions.program(k)):
            wrong.append(" ".join(words))
        assert Counter(module for _, module in found.keywords) == Counter(found.modules)  # a word each
        assert all(0 <= position < len(words) for position, _ in found.keywords)
    assert not wrong, f"{len(wrong)} of {len(questions)}, such as {wrong[:3]}"


OWN = """\
zero hops
  How many red cubes are there? -> count red cube scene
  how many cubes in the picture are made of metal -> count cube metal scene
  Count the tiny grey balls. -> count small gray sphere scene
  What is the number of big, shiny boxes? -> count large metal cube scene
  How many objects do you see in total? -> count scene
  How many things are red and shiny? -> count red metal scene
  How many cubes of small size have the color red? -> count cube small red scene
  Do you see any purple thing? -> exist purple scene
  Are any cylinders cyan? -> exist cylinder cyan scene
  Is there something that is a yellow cube? -> exist yellow cube scene
  What colour is the small metal ball? -> query_color unique small metal sphere scene
  WHICH SHAPE DOES THE BLUE THING HAVE -> query_shape unique blue scene
  What's the matte block's size? -> query_size unique rubber cube scene
  Could you tell me how many shapes there are? -> count scene
  How large is the brown one? -> query_size unique brown scene
  What stuff is the cylinder made of? -> query_material unique cylinder scene
  The green ball is made of what? -> query_material unique green sphere scene
  Tell me the shape of the red object -> query_shape unique red scene
  Consider a blue cube, what is it made of? -> query_material unique blue cube scene
one hop
  Is anything in front of the cube? -> exist front unique cube scene
  How many red cubes are left of the big sphere? -> count red cube left unique large sphere scene
  To the right of the tiny cube, how many balls are there? -> count sphere right unique small cube scene
  There is a red cube; how many things are on its left? -> count left unique red cube scene
  Are any metal objects standing behind the cyan block? -> exist metal behind unique cyan cube scene
  Is there a ball at the back of the cube? -> exist sphere behind unique cube scene
  What color is the ball on the right-hand side of the red cube? ->
      query_color unique sphere right unique red cube scene
  How many things are red and in front of the cube? -> count red front unique cube scene
two hops
  How many balls are behind the cube which is left of the cylinder? ->
      count sphere behind unique cube left unique cylinder scene
  Look at a cube to the left of the red ball; is there anything in front of it? ->
      exist front unique cube left unique red sphere scene
  What is the material of the thing located in front of the ball to the right of the big cube? ->
      query_material unique front unique sphere right unique large cube scene
three hops
  Is there any ball left of the cube behind the red cylinder in front of the blue thing? ->
      exist sphere left unique cube behind unique red cylinder front unique blue scene
  What shape is the item right of the cube that is behind the ball left of the tiny block? ->
      query_shape unique right unique cube behind unique sphere left unique small cube scene
same relate
  How many other things share the color of the large cube? -> count same_color unique large cube scene
  There is a green ball; how many blocks share its size? -> count cube same_size unique green sphere scene
  How many cubes are as big as the red ball? -> count cube same_size unique red sphere scene
  Does anything share the cube's colour? -> exist same_color unique cube scene
  How many things match the cube in colour? -> count same_color unique cube scene
  Is there another cylinder with the cube's material? -> exist cylinder same_material unique cube scene
  Are there any balls of the same colour as the shiny cube? -> exist sphere same_color unique metal cube scene
  What is the size of the cube that shares the color of the ball? ->
      query_size unique cube same_color unique sphere scene
  What color is the cube made of the same material as the ball? ->
      query_color unique cube same_material unique sphere scene
  How many things have the same size as the ball behind the cube? ->
      count same_size unique sphere behind unique cube scene
  Is there a thing whose size is the same as the size of the red cube? ->
      exist same_size unique red cube scene
comparison
  Is the big cube the same color as the cylinder? ->
      equal_color query_color unique large cube scene query_color unique cylinder scene
  Are the red ball and the cube equal in size? ->
      equal_size query_size unique red sphere scene query_size unique cube scene
  Do the cube and cylinder share a colour? ->
      equal_color query_color unique cube scene query_color unique cylinder scene
  Does the tiny ball match the cube in material? ->
      equal_material query_material unique small sphere scene query_material unique cube scene
  Is the cube as big as the sphere? -> equal_size query_size unique cube scene query_size unique sphere scene
  Is the shape of the red thing equal to the shape of the blue thing? ->
      equal_shape query_shape unique red scene query_shape unique blue scene
  Is the ball's color the same as the cube's? ->
      equal_color query_color unique sphere scene query_color unique cube scene
  There is a ball left of the cube; is its material identical to that of the red thing? ->
      equal_material query_material unique sphere left unique cube scene query_material unique red scene
  There is a cube and a ball; do they have the same color? ->
      equal_color query_color unique cube scene query_color unique sphere scene
  Are the thing behind the cube and the cylinder made of the same material? ->
      equal_material query_material unique behind unique cube scene query_material unique cylinder scene
integer comparison
  Are there more spheres than cubes? -> greater_than count sphere scene count cube scene
  Are there more red things than there are things behind the cube? ->
      greater_than count red scene count behind unique cube scene
  Are there equal numbers of cubes and balls? -> equal_integer count cube scene count sphere scene
  Do the cubes outnumber the balls? -> greater_than count cube scene count sphere scene
  Are there as many cubes as balls? -> equal_integer count cube scene count sphere scene
  Are the number of red things and the number of cubes equal? ->
      equal_integer count red scene count cube scene
  Is the number of cubes the same as that of balls? -> equal_integer count cube scene count sphere scene
  Are there less tiny blocks than shiny things? -> less_than count small cube scene count metal scene
  Is the number of green cubes smaller than the number of balls right of the cylinder? ->
      less_than count green cube scene count sphere right unique cylinder scene
  Is the number of cubes higher than the number of red or blue balls? ->
      greater_than count cube scene count sphere union red scene blue scene
and
  How many cubes are left of the ball and behind the cylinder? ->
      count cube intersect left unique sphere scene behind unique cylinder scene
  Is there a thing that is both right of the red cube and in front of the blue thing? ->
      exist intersect right unique red cube scene front unique blue scene
  What color is the thing that is behind the ball and that is left of the cube? ->
      query_color unique intersect behind unique sphere scene left unique cube scene
  How many things are left of the cube and of the same colour as the ball? ->
      count intersect left unique cube scene same_color unique sphere scene
  How many things are both metal objects and cubes? -> count intersect metal scene cube scene
or
  How many red or blue cubes are there? -> count cube union red scene blue scene
  How many things are cubes, balls or cylinders? -> count union cube scene union sphere scene cylinder scene
  Are there any things that are either left of the cube or behind the ball? ->
      exist union left unique cube scene behind unique sphere scene
  How many big things are red or shiny? -> count large union red scene metal scene
"""
"""By kind: questions, and their programs in short."""


def own_cases() -> Iterator[tuple[Kind, str, str]]:
    kind = Kind.ZERO_HOP
    for line in OWN.replace("->\n", "->").splitlines():
        text, _, short = line.partition("->")
        if short:
            yield kind, text.strip(), short
        else:
            kind = Kind(line)


@pytest.mark.parametrize(("kind", "text", "short"), [*own_cases()])
def test_wording_of_our_own(kind: Kind, text: str, short: str) -> None:
    wanted = program_of(short)
    assert prefix_automaton(GRAMMAR).recognises(GRAMMAR.encode(wanted))
    found = understood(text)
    assert Counter(found.modules) == Counter(wanted)
    assert {module for _, module in found.keywords} == set(wanted)
    assert kind_of(found.modules) == kind


@pytest.mark.parametrize(
    "text",
    [
        "Count cubes",
        "Are there more red or blue things left of the cube than metal things?",
        "Is the ball left of the cube and behind the tube the same size as the red or green thing?",
    ],
)
def test_modules_are_sorted_and_make_a_program(text: str) -> None:
    found = understood(text).modules
    automaton = prefix_automaton(GRAMMAR)
    assert list(found) == sorted(found, key=MODULES.index)
    assert automaton.completes_with(automaton.start, Counter(GRAMMAR.encode(found)))


def test_which_word_speaks_of_which_module() -> None:
    found = understood("How many red cubes are in front of the big ball?")
    assert {(found.words[position], module) for position, module in found.keywords} == {
        ("many", "count"),
        ("red", "filter_color[red]"),
        ("cubes", "filter_shape[cube]"),
        ("front", "relate[front]"),
        ("the", "unique"),
        ("big", "filter_size[large]"),
        ("ball", "filter_shape[sphere]"),
        ("ball", "scene"),
    }


def test_copies_of_a_module_have_words_of_their_own() -> None:
    found = understood("Does the red cube have the same size as the ball that is behind the block?")
    words: dict[str, list[str]] = {}
    for position, module in found.keywords:
        words.setdefault(module, []).append(found.words[position])
    assert words["unique"] == ["the", "the", "the"]
    assert words["scene"] == ["cube", "block"]
    assert words["query_size"] == ["size", "as"]
    assert words["equal_size"] == ["same"]


def test_the_reading_shows_phrases() -> None:
    found = understood("How many cubes are on the left side of it; there is a ball")
    assert ("relate[left]", "on the left side of") in found.reading
    assert ("count", "how many") in found.reading


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("How many redd cubes are there?", r"'redd' \(word 3; near: red"),
        ("How many pyramids and xylophones are there?", r"'pyramids' \(word 3.*'xylophones' \(word 5"),
        ("Which is bigger?", r"'bigger' \(word 3; near: bigger than"),
        ("What color is the right cube?", "no thing follows 'the right'"),
        ("How many round things are there?", r"'round' .*filter_shape\[cylinder\], filter_shape\[sphere\]"),
        ("What is next to the cube?", r"'next to' .*relate\[behind\].*relate\[right\]"),
        ("How many cubes and balls are there?", r"'and' \(word 4\) could mean union"),
        ("How many red and blue cubes are there?", r"'and' \(word 4\) could mean union"),
        ("How many balls are left of the cube and the cylinder?", "'the cylinder' is one thing too many"),
        ("How many balls are left of the cube or the cylinder?", "'the cylinder' is one thing too many"),
        ("How many balls are left of?", "no thing follows 'left of'"),
        ("How many balls are left of and behind the cube?", "no thing follows 'left of'"),
        ("Is there a thing of the same size and color as the cube?", "no thing follows 'size'"),
        ("", "the question is empty"),
        ("the red cube", "no word says what is asked"),
        ("Is the red cube left of the ball?", "no word says what is asked"),
        ("What is left of the cube?", "no word says what is asked"),
        ("What color and what size is the cube?", "two attributes are asked for"),
        ("How many cubes are there and what color is the ball?", "two questions in one"),
        ("Do the cube and the ball have the same size and color?", "two attributes are compared"),
        ("Is the cube larger than the ball?", "only numbers can be greater"),
        ("How many more cubes than balls are there?", "no module subtracts"),
        ("How many cubes are not red?", "no module says that something is not so"),
        ("What color is it?", "'it' stands for nothing"),
        ("There is a cube; how many balls are left of it and behind it?", "its once, not 2 times"),
        ("There is a cube; how many balls are left of the cube?", "its once, not 0 times"),
        ("There is a cube; what is left of that cube?", "'that cube' could mean"),
        (
            "Are there as many red cubes as blue ones?",
            r"'ones' \(word 9\) could mean any thing or what 'cubes' means",
        ),
        ("Are there more cubes left of the ball than behind it?", "'it' stands for nothing"),
        ("Are there more cubes left of the ball than behind the tube?", "does not say what is counted"),
        ("Do the cubes have the same color?", "not said which thing"),
    ],
)
def test_what_is_not_understood_is_reported(text: str, told: str) -> None:
    with pytest.raises(ParseError, match=told):
        understood(text)
