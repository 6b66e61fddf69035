"""The task: turning questions about scenes into programs. Light: it is imported to show its options."""

from collections.abc import Collection, Mapping
from pathlib import Path

from ngs.tasks.clevr.settings import TrainCLEVR
from ngs.tasks.trainable import MetricsView, Source, Trainable

QUESTIONS = Source("clevr", "CLEVR-25k", "data/CLEVR-25k.ngs")


class ReadingQuestions(Trainable):
    """Learn to turn questions about scenes into programs.

    The network sees the words of a question and the modules that a dictionary finds in it, and is told the
    answer, never the program (except with the method supervised). Without --data it learns from questions
    about synthetic scenes that are made on the spot.
    """

    name = "clevr"
    about = __doc__ or ""
    settings = TrainCLEVR
    experiment_data = (QUESTIONS,)
    metrics = MetricsView(
        examples="questions",
        shares={"answers": "answers right", "programs": "programs right", "equivalent": "up to equivalence"},
        groups={"by_kind": "kind", "by_length": "length"},
        progress={"answers": "answers", "equivalent": "programs, up to equivalence,"},
        compared={"answers": "answers", "programs": "programs", "equivalent": "equivalent"},
    )

    commands: Mapping[str, str] = {
        "ask": "ngs.tasks.clevr.asking_commands:ask",
        "explain": "ngs.tasks.clevr.asking_commands:explain",
        "data import": "ngs.tasks.clevr.data_commands:bring_in",
        "data inspect": "ngs.tasks.clevr.data_commands:show",
    }
    sources = "a folder with scenes and questions in the format of CLEVR v1.0"

    imports: Mapping[str, str] = {
        "prepare": "ngs.tasks.clevr.preparation:PreparedQuestions",
        "evaluate": "ngs.tasks.clevr.preparation:evaluate",
        "data": "ngs.tasks.clevr.packed:load",
        "report": "ngs.tasks.clevr.report.report:QuestionReport",
        "experiments": "ngs.tasks.clevr.paper:EXPERIMENTS",
        "costs": "ngs.tasks.clevr.paper.workloads:FULL",
        "quick costs": "ngs.tasks.clevr.paper.workloads:QUICK",
        "playground": "ngs.tasks.clevr.playground.asking_api:AskingView",
    }

    def holds(self, source: Path, options: Collection[str]) -> bool:
        from ngs.tasks.clevr import official, packed

        return official.is_official(source) or official.is_zipped(source) or packed.FORMAT.is_at(source)


CLEVR = ReadingQuestions()
