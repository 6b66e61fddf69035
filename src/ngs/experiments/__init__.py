"""Training runs and what comes of them: configurations, folders, records, tables and reports.

Read first: `course.py`, a task as a run sees it; then `run.py`, from a configuration to a folder of results.

    course.py          what to train, on what, and how good it is: the interface of a task
    hwf.py             handwritten formulas as a course
    clevr.py           questions about scenes as a course
    scenes.py          seeing scenes as a course
    config.py          the whole configuration of a run
    run.py             one run, from its configuration to its folder; also resumed
    folder.py          the files in the folder of a run
    record.py          what a run writes as it goes
    environment.py     versions, machine and commit
    weights.py         what a run learned, in one file to give away
    comparison.py      several runs side by side
    counted.py         what is counted in the scores of each task
    seen_questions.py  questions answered from pixels
    job.py             work whose result is kept, known by what it depends on
    jobs               the jobs that are no training runs
    sweep              many jobs, on this machine or on a Ray cluster
    catalogue          the experiments of the results page, as data
    results            their outcomes as tables and figures
    report             the HTML report of one run
    timed_steps.py     things timed in turn, training steps among them
    tensor_memory.py   peak memory of tensors
    power_law.py       exponents of growth, by least squares

Nothing here prints or reads the command line: that is for `apps`. What any user of the library could need
belongs to `learning`.
"""
