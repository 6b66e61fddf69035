"""The paper's table and figures of questions (Li et al. 2020, Sec. 4.2), and experiments beside them."""

from ngs.tasks.clevr.paper import tables
from ngs.tasks.clevr.paper.tables import small
from ngs.tasks.results.corrections import corrections

EARLY = small(method="m-bs", steps=60, validate_every=60)

EXPERIMENTS = (
    tables.TABLE,
    tables.CURVES,
    tables.LEARNING_RATES,
    # Of embedded questions: drawings show scenes, and those of a data set are not ours to publish.
    corrections("clevr", "CLEVR: corrections", (), lambda means: EARLY, EARLY, number=200),
)
