"""All experiments, and the page of results: each with what is known of it, made from the records alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ngs.errors import NGSError
from ngs.experiments.catalogue import cost
from ngs.tasks.finding import every
from ngs.tasks.results.curves import save
from ngs.tasks.results.experiment import Experiment, Means, jobs_of
from ngs.tasks.results.outcome import Outcome, read_outcome
from ngs.tasks.results.tables import Section, provenance
from ngs.tasks.trainable import Source

_TASKS = tuple(every())
_ALL = [*(each for task in _TASKS for each in task.experiments()), cost.EXPERIMENT]
EXPERIMENTS: Mapping[str, Experiment] = {
    each.name: each for each in sorted(_ALL, key=lambda each: not each.in_paper)
}
SOURCES: Sequence[Source] = tuple(source for task in _TASKS for source in task.experiment_data)
"""The data that the experiments of all tasks need."""


def experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise NGSError(f"there is no experiment {name!r}; choose from {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


# The page

PAGE, RECORDS, IMAGES = "results.md", "results", "images/results"

STAND_INS = """ †: not what was asked for, see the text above the table; it is neither
counted among the runs that are done nor compared with the paper."""

HEAD = """# Results

Every table and curve of the paper (Li et al., ICML 2020) and of our own experiments, as far as they have been
run: mean and standard deviation of the seeds, with the paper's value and the difference beside it. **Bold**:
more than a point below the paper.{stand_ins} Lines of figures are means of the seeds, in a shade from the
worst of them to the best. `ngs results` makes tables and figures from the records in [results/](results/);
the words between them are written by hand, in a Markdown file beside each record. A record has `places`, by
row and column, with the `runs` of each: `facts` are a run's settings (those that are not the default),
`result` and `curve` its scores, `environment` its commit, machine and versions. Below a table stand its
command, which makes one row with `--row NAME`, and its commits, with the rows they made where these differ;
one with + had changes that were not committed.

The checkpoint of every run is chosen on training data held out for that, never on the test. How to run or
extend any of this, on one machine or several: [several_machines.md](several_machines.md#many-runs).
"""


def records(folder: Path) -> dict[str, Outcome]:
    """The outcomes on record in a folder, by experiment."""
    paths = {name: folder / f"{name}.json" for name in EXPERIMENTS}
    return {name: read_outcome(path) for name, path in paths.items() if path.exists()}


def write_page(outcomes: Mapping[str, Outcome], docs: Path) -> Path:
    """Write the page and its figures into the folder of the documentation."""
    marked = any(place.instead for outcome in outcomes.values() for place in outcome.places)
    parts = [HEAD.format(stand_ins=STAND_INS if marked else "")]
    for name, experiment in EXPERIMENTS.items():
        parts += [f"## {experiment.title}", findings(docs / RECORDS / f"{name}.md")]
        if name in outcomes:
            section = experiment.show(outcomes[name])
            record = f"[All runs]({RECORDS}/{name}.json)."
            parts += [illustrated(section, docs / IMAGES, IMAGES), f"{provenance(outcomes[name])} {record}"]
        else:
            parts.append(f"Not run yet: `ngs reproduce {name}`.")
    page = docs / PAGE
    page.write_text("\n\n".join(part.strip() for part in parts if part) + "\n", encoding="utf-8")
    return page


def findings(path: Path) -> str:
    """The handwritten text beside a record, if there is one; its links are adapted to the page."""
    if not path.exists():
        return ""
    return path.read_text(encoding="utf-8").replace(f"](../{PAGE}#", "](#").replace("](../", "](")


def illustrated(section: Section, images: Path, called: str) -> str:
    """The text of a section; its figures are written into `images`, which the text calls `called`."""
    text = section.text
    if section.figures or section.drawings:
        images.mkdir(parents=True, exist_ok=True)
    for name, figure in section.figures.items():
        for suffix in (".svg", ".png"):
            save(figure, images / f"{name}{suffix}")
    for name, drawing in section.drawings.items():
        (images / f"{name}.svg").write_text(drawing, encoding="utf-8")
    for name in (*section.figures, *section.drawings):
        text = text.replace(f"{{{name}}}", f"{called}/{name}.svg")
    return text


def listed(experiment: Experiment) -> str:
    """One line: title, number of runs and data."""
    runs = len(list(jobs_of(experiment.full(Means()))))
    data = " and ".join(source.title for source in experiment.needs) or "embedded data"
    return f"{experiment.name:<15} {experiment.title} ({runs} run{'s' * (runs > 1)} on {data})"
