"""Training runs and their results: folders, records, tables and reports.

Read first: `run.py`, from a task and its settings to a folder of results. A task says itself what it needs
and how it is shown (`ngs.tasks.trainable`).

    run.py             one run, from its settings to its folder; also resumed
    record.py          what a run writes while it trains
    environment.py     versions, machine and commit
    comparison.py      several runs side by side
    sweep              many jobs, on this machine or on a Ray cluster
    catalogue          the experiments of all tasks, from folders of runs to records and a page
    report             the HTML report of one run

Nothing here prints or reads the command line: that is for `apps`.
"""
