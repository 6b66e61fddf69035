"""The task: reading handwritten formulas. Light: it is imported to show its options."""

from collections.abc import Collection, Mapping
from pathlib import Path

from ngs.tasks.hwf.settings import SHARES, TrainHWF
from ngs.tasks.trainable import MetricsView, Source, Trainable

FORMULAS = Source("hwf", "HWF", "data/HWF.ngs")
CLEAN_FORMULAS = Source("hwf-clean", "HWF-clean", "data/HWF-clean.ngs")


class ReadingFormulas(Trainable):
    """Learn to read handwritten formulas.

    The network sees images of symbols and is told the value of each formula, never what the symbols are
    (except with the methods that need labels: supervised, --pretrain). Without --data it learns from
    synthetic handwriting that is made on the spot.
    """

    name = "hwf"
    about = __doc__ or ""
    settings = TrainHWF
    experiment_data = (FORMULAS, CLEAN_FORMULAS)
    metrics = MetricsView(
        examples="formulas",
        shares=dict(zip(SHARES, ("answers right", "formulas right", "symbols right"), strict=True)),
        progress={"calculation": "answers", "symbol": "symbols"},
        compared={"calculation": "answers", "symbol": "symbols"},
    )

    commands: Mapping[str, str] = {
        "tour": "ngs.tasks.hwf.reading_commands:tour",
        "predict": "ngs.tasks.hwf.reading_commands:predict",
        "explain": "ngs.tasks.hwf.reading_commands:explain",
        "data import": "ngs.tasks.hwf.data_commands:bring_in",
        "data inspect": "ngs.tasks.hwf.data_commands:show",
    }
    sources = "HWF.zip or the folder with its content (data/expr_train.json, ...)"

    imports: Mapping[str, str] = {
        "prepare": "ngs.tasks.hwf.preparation:PreparedFormulas",
        "evaluate": "ngs.tasks.hwf.preparation:evaluate",
        "data": "ngs.tasks.hwf.packed:load",
        "report": "ngs.tasks.hwf.report.report:FormulaReport",
        "experiments": "ngs.tasks.hwf.paper:EXPERIMENTS",
        "costs": "ngs.tasks.hwf.paper.workloads:FULL",
        "quick costs": "ngs.tasks.hwf.paper.workloads:QUICK",
        "playground": "ngs.tasks.hwf.playground.view:DrawingView",
    }

    def holds(self, source: Path, options: Collection[str]) -> bool:
        from ngs.tasks.hwf import archive, packed

        if source.is_dir() and not any(source.iterdir()):
            return False
        return archive.is_archive(source) or packed.FORMAT.is_at(source)


HWF = ReadingFormulas()
