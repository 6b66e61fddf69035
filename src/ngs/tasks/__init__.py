"""Tasks: the data, the grammar and the semantics of each.

Read first: `trainable.py` and `task.py`, what the rest of the package asks of any task; then `hwf`, the
smaller of the two tasks of the paper. A new task is a file of its own, a folder here, or another package with
an entry point in the group `ngs.tasks`. No other layer has to know it.

    trainable.py   Trainable: anything that can be trained; Prepared: the same with its data, for one run
    task.py        Task: a grammar, a semantics, data and a network as one value
    settings.py    the settings of a run, an option for each
    finding.py     a task by its name, by its file, or by its module
    run_folder.py  the files of a run, and the network that it learned
    hwf            handwritten formulas, learned from their values
    clevr          questions about scenes, learned from their answers
    pictures       pictures of scenes: rendering them, and seeing the objects in them
    importing.py   the options that commands for importing data share
    report         the parts of a run's page that depend on the task
    results        experiments as data, and their outcomes as tables and figures
    costs          the costs of steps in seconds and memory
    playground     the views of tasks in `ngs serve`
    source.py      the sources of data, and their division into parts
    image_file.py  an image file from anywhere, decoded safely
    json_list.py   a long list in a JSON file, element by element
    faults.py      messages about faulty data

Methods and search do not belong here: a task gives `learning` its examples, its reasoner and its network.
"""

from collections.abc import Mapping

BUILT_IN: Mapping[str, str] = {
    "hwf": "ngs.tasks.hwf.trainable:HWF",
    "clevr": "ngs.tasks.clevr.trainable:CLEVR",
    "scenes": "ngs.tasks.pictures.trainable:SCENES",
}
"""The tasks that come along: by name, where each is."""
