"""Back-search for one question agrees with the batched one, and tells what it did."""

import re
from collections import Counter
from xml.etree import ElementTree

import pytest
import torch
from torch import Tensor

from ngs.errors import NGSError
from ngs.grammar.constraint import AnyOrder, enumerate_sentences
from ngs.parsing.autoregressive import Autoregressive
from ngs.reasoning.operation import UNDEFINED
from ngs.search.back_search import back_search
from ngs.search.correction import Action
from ngs.search.edits import Edits
from ngs.tasks.clevr.batched_execution import SceneTables, execute_batch
from ngs.tasks.clevr.correction import ProgramCorrection, RightPrograms, correct, tidy_edits
from ngs.tasks.clevr.execution import execute, spoken, trace
from ngs.tasks.clevr.explanation import as_text, drawn_correction, drawn_program, program_tree
from ngs.tasks.clevr.language import Programs
from ngs.tasks.clevr.noun_phrases import equivalent, rearrangements, switches
from ngs.tasks.clevr.program import MODULES, Program
from ngs.tasks.clevr.program_text import Executed, listed, noun_phrase, steps_of, why_undefined
from ngs.tasks.clevr.reading import LikelyProgram, QuestionReader, program_of
from ngs.tasks.clevr.scenes import ANSWERS, Scene
from ngs.tasks.clevr.semantics import lenient, strict
from tests.tasks.clevr.readers import random_reader, row, some_questions

SVG = "http://www.w3.org/2000/svg"
SCENE = row(
    "small red rubber cube", "large blue metal sphere", "small blue rubber cube", "large red metal cube"
)


def asked(k: int) -> tuple[str, Scene, str]:
    """A made-up question, the scene it is about, and its answer."""
    data = some_questions()
    answer = data.train.answer(k)
    assert answer is not None
    return " ".join(data.train.text_words(k)), data.scenes[int(data.train.scenes[k])], answer


def batched(
    p: Autoregressive, scene: Scene, answer: str, edits: Edits, reader: QuestionReader
) -> tuple[Program, bool, bool]:
    """The correction, whether there is one, and whether none was needed, as training finds them."""
    tables = SceneTables.of([scene], reader.unique)

    def judge(rows: Tensor, z: Tensor) -> Tensor:
        return execute_batch(tables, z, torch.zeros_like(rows)) == ANSWERS.index(answer)

    with torch.no_grad():
        z = p.best().symbols
        found = back_search(z, p.score, edits, judge)
    return program_of(found.z[0]), bool(found.found[0]), bool(judge(torch.tensor([0]), z)[0])


# Agreement with the batched search


@pytest.mark.parametrize(
    ("language", "edits", "unique"),
    [(None, rearrangements(), strict), (None, rearrangements(), lenient), (Programs(), switches(), strict)],
    ids=["tidy", "lenient", "free"],
)
def test_the_chosen_program_is_that_of_the_batched_search(language, edits, unique) -> None:
    counted: Counter[str] = Counter()
    for k in range(200):
        reader = random_reader(k, language, unique)
        text, scene, answer = asked(k % 120)
        have = correct(reader, text, scene, answer, few=1)
        want, found, right = batched(reader.distribution(text), scene, answer, edits, reader)
        assert have.search.is_right == right and (have.corrected is not None) == found
        if have.corrected is not None:
            assert have.corrected.program == want
            assert have.corrected.answer == answer
        assert have.first.answer == answer or not right
        counted["right" if right else "corrected" if found else "none"] += 1
    assert len(counted) == 3 and counted["corrected"] >= 3


def test_edits_say_which_modules_went_where() -> None:
    for k in range(40):
        program = random_reader(k).read(asked(k)[0]).programs[0].program
        for edit in tidy_edits(program):
            assert [program[position] for position in edit.old] == list(edit.changed)
            assert sorted(edit.sentence) == sorted(program)
            left = [m for position, m in enumerate(program) if position not in edit.old]
            stayed = [m for position, m in enumerate(edit.sentence) if position not in edit.new]
            assert Counter(left) == Counter(stayed)
            assert len(edit.new) in (1, 2) or edit.text.endswith("turns round")


def test_edits_in_words() -> None:
    program = ("count", "relate[left]", "unique", "filter_color[red]", "same_size", "unique", "scene")
    first = {edit.sentence: edit for edit in reversed([*tidy_edits(program)])}  # of those that make the same
    told = {edit.text: edit.sentence for edit in first.values()}
    assert told == {
        "relate[left] and same_size change places": (
            *("count", "same_size", "unique", "filter_color[red]", "relate[left]", "unique", "scene"),
        ),
        "filter_color[red] moves to the noun phrase of relate[left]": (
            *("count", "filter_color[red]", "relate[left]", "unique", "same_size", "unique", "scene"),
        ),
        "filter_color[red] moves to the noun phrase of scene": (
            *("count", "relate[left]", "unique", "same_size", "unique", "filter_color[red]", "scene"),
        ),
    }


# A correction


def all_corrections(answer: str = "1") -> list[ProgramCorrection]:
    text = "how many red cubes are left of the large sphere"
    return [correct(random_reader(seed), text, SCENE, answer) for seed in range(12)]


def test_neighbours_are_ranked_and_tried_until_one_is_right() -> None:
    found = [each for each in all_corrections() if each.search.edit]
    assert found
    for correction in found:
        edits = [event.edit for event in correction.neighbours]
        ratios = [event.log_priority for event in correction.neighbours]
        assert ratios == sorted(ratios, reverse=True) and len(set(edits)) == len(edits)
        tried = [event for event in correction.search.trace if event.action in (Action.ACCEPT, Action.REFUSE)]
        assert [event.edit for event in tried] == edits[: len(tried)]
        for event in tried:
            right = spoken(execute(event.edit.sentence, SCENE)) == "1"
            assert right == (event.action is Action.ACCEPT) == (event.edit is correction.search.edit)


def test_the_tree_has_the_values_of_the_steps() -> None:
    for correction in all_corrections():
        nodes = [value for path, value in correction.search.values.items() if isinstance(value, frozenset)]
        steps = steps_of(trace(correction.search.read.sentence, SCENE))
        assert nodes == [step.value for step in steps if isinstance(step.value, frozenset)]


def test_yes_is_not_one() -> None:
    scene = row("small red rubber cube")
    for answer in ("1", "yes"):
        correction = correct(random_reader(0), "is there a cube", scene, answer)
        assert correction.first.answer == "yes"
        assert correction.search.is_right == (answer == "yes")


def test_alternatives_are_all_right_programs_each_meaning_once() -> None:
    text = "do the red thing and the small sphere have the same material"
    scene = row("large red rubber cube", "small gray rubber sphere", "small blue metal cube")
    reader = random_reader(0)
    found = correct(reader, text, scene, "yes").alternatives
    p = reader.distribution(text)
    every = enumerate_sentences(reader.language, p.given, 2000).sentences
    programs = [program_of(columns) for columns in every]
    with torch.no_grad():
        log_probs = p.score(every.new_zeros(len(every)), every).tolist()
    right = [(z, log_p) for z, log_p in zip(programs, log_probs, strict=True) if execute(z, scene) == "yes"]
    assert found.exact and found.of == len(programs) > len(right) > len(found.programs) > 0
    total = sum(torch.tensor(log_p).exp().item() for _, log_p in right)
    assert torch.tensor(found.log_evidence).exp().item() == pytest.approx(total, rel=1e-4)
    assert sum(found.shares) == pytest.approx(1) and found.shares == sorted(found.shares, reverse=True)
    for each in found.programs:
        same = [log_p for z, log_p in right if equivalent(z, each.program)]
        assert each.log_prob == pytest.approx(torch.tensor(same).logsumexp(0).item(), abs=1e-4)
        assert sum(equivalent(each.program, other.program) for other in found.programs) == 1


def test_where_there_are_too_many_arrangements_likely_ones_are_looked_at() -> None:
    for k in range(20):
        text, scene, answer = asked(k)
        correction = correct(random_reader(k), text, scene, answer, few=1)
        found = correction.alternatives
        if correction.corrected is not None and not found.exact:
            place = found.place(correction.corrected.program)
            assert equivalent(found.programs[place].program, correction.corrected.program)


def test_only_answers_are_answers() -> None:
    with pytest.raises(NGSError, match=r"the answer is 'maybe'; give one of 0, 1, .*cylinder"):
        correct(random_reader(0), "how many cubes are there", SCENE, "maybe")


def test_without_grammar_a_program_need_not_type_check() -> None:
    text = "how many red cubes are left of the large sphere"
    found = [correct(random_reader(seed, AnyOrder(len(MODULES))), text, SCENE, "1") for seed in range(6)]
    wrong = [each for each in found if each.first.steps is None]
    assert wrong
    for correction in wrong:
        assert correction.first.answer is None and correction.first.fault is not None
        assert correction.first.fault.startswith("the program does not type-check: position")
        assert all(module in as_text(correction) for module in correction.first.program)
        ElementTree.fromstring(drawn_correction(correction))


# In words and pictures


def test_a_correction_is_told() -> None:
    correction = next(each for each in all_corrections() if each.search.edit)
    edit, text = correction.search.edit, as_text(correction)
    assert edit is not None
    starred = [line.split()[1] for line in text.splitlines() if line.startswith("* ")]
    assert Counter(starred) == Counter(edit.changed * 2)
    assert "the dictionary: how many: count; red: filter_color[red]; " in text
    assert f"summed over all {correction.alternatives.of} programs" in text
    assert f"\n\n{correction.first.told}  ->  1: {edit}\n\n" in text
    assert text.count("  push  ") == len(correction.neighbours)
    assert re.search(rf"\n +accept .*  {re.escape(edit.text)}\n", text)


def test_a_right_program_stays_as_it_is() -> None:
    correction = correct(random_reader(0), "how many cubes are there", SCENE, "3")
    assert correction.search.is_right and correction.neighbours == ()
    assert correction.corrected == correction.first
    assert as_text(correction).split("\n\n")[1:] == [
        "read (100.0%)\n"
        "count              = 3\n"
        "filter_shape[cube] = 3 objects: small red rubber cube, small blue rubber cube, "
        "large red metal cube\n"
        "scene              = all 4 objects",
        "3, right as it stands",
        "programs that give 3, by p(z | x, y)\n"
        "  100.0%  count filter_shape[cube] scene\n"
        "  p(y | x) = 1, summed over all 1 programs",
    ]


def test_an_answer_that_nothing_gives_is_said_to_be_none() -> None:
    correction = correct(random_reader(0), "how many cubes are there", SCENE, "red")
    assert correction.corrected is None and correction.search.edit is None
    text = as_text(correction)
    assert "\n3  ->  nothing one step away gives red with positive probability\n" in text
    assert text.endswith("none of all 1 programs of these modules gives red")
    assert len(ElementTree.fromstring(drawn_correction(correction)).findall(".//*[@class='tree']")) == 1


def test_a_correction_that_a_likelier_program_contradicts_is_told() -> None:
    correction = next(
        each
        for k in range(60)
        for each in [correct(random_reader(k), *asked(k))]
        if each.corrected and each.alternatives.place(each.corrected.program)
    )
    assert as_text(correction).endswith("as well: this correction may be right for the wrong reason")


def test_the_drawing_marks_what_changed_places_and_shows_objects() -> None:
    correction = next(each for each in all_corrections() if each.search.edit)
    root = ElementTree.fromstring(drawn_correction(correction))
    edit = correction.search.edit
    assert edit is not None
    for kind in ("refuse", "changed"):
        groups = root.findall(f".//{{{SVG}}}g[@class='leaf {kind}']")
        texts = [group.findtext(f"{{{SVG}}}text") for group in groups]
        assert Counter(texts) == Counter(edit.changed)
    assert "".join(root.itertext()).count("small red rubber cube") > 2
    everything = len(root.findall(".//*[@class='object']")) + len(root.findall(".//*[@class='other']"))
    assert everything % len(SCENE.things) == 0


def test_a_drawing_of_what_was_typed_is_sound() -> None:
    executed = Executed.of(("count", "scene"), SCENE, strict)
    root = ElementTree.fromstring(drawn_program("how many <things>\x00 & \udcff" + " things" * 60, executed))
    assert "how many <things>" in "".join(root.itertext())
    assert float(root.get("width", "inf")) < 1000


# Values


def test_trees_branch_where_a_module_takes_two_values() -> None:
    program = (
        *("greater_than", "count", "filter_color[red]", "scene"),
        *("count", "relate[left]", "unique", "filter_shape[sphere]", "scene"),
    )
    assert program_tree(Executed.of(program, SCENE, strict)).splitlines() == [
        "greater_than            = yes",
        "├─ count                = 2",
        "│  filter_color[red]    = 2 objects: small red rubber cube, large red metal cube",
        "│  scene                = all 4 objects",
        "└─ count                = 1",
        "   relate[left]         = 1 object: small red rubber cube",
        "   unique               = the large blue metal sphere",
        "   filter_shape[sphere] = 1 object: large blue metal sphere",
        "   scene                = all 4 objects",
    ]


def test_long_lists_are_cut_and_empty_ones_named() -> None:
    scene = row(*["small red rubber cube"] * 9)
    assert listed(range(9), scene) == f"9 objects: {', '.join(['small red rubber cube'] * 6)} and 3 more"
    assert listed([], scene) == "no object"


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (
            "query_color unique filter_shape[cylinder] filter_size[large] scene",
            "the scene has no large cylinder, which `unique` looks for",
        ),
        (
            "query_size unique filter_color[red] scene",
            "'red object' fits 2 objects: small red rubber cube, large red metal cube; "
            "`unique` needs exactly one",
        ),
        (
            "count relate[behind] unique filter_shape[cube] relate[right] unique filter_shape[sphere] scene",
            "'cube right of the sphere' fits 2 objects: small blue rubber cube, large red metal cube; "
            "`unique` needs exactly one",
        ),
        (
            "equal_size query_size unique filter_shape[sphere] scene "
            "query_size unique filter_color[gray] scene",
            "the scene has no gray object, which `unique` looks for",
        ),
    ],
)
def test_undefined_is_explained_where_it_arises(program, reason) -> None:
    steps = trace(program.split(), SCENE)
    assert steps.value is UNDEFINED and why_undefined(steps, SCENE) == reason


def test_noun_phrases_in_words() -> None:
    union = "filter_size[small] union filter_color[red] scene same_shape unique filter_shape[cube] scene"
    (found,) = trace(["count", *union.split()], SCENE).arguments
    assert (
        noun_phrase(found) == "small object that is either red object or object of the same shape as the cube"
    )


def test_shares_of_the_very_unlikely_are_exact() -> None:
    unlikely = RightPrograms((LikelyProgram(("a",), -2000.0), LikelyProgram(("b",), -2000.0)), 2, True)
    assert unlikely.shares == pytest.approx([0.5, 0.5])
