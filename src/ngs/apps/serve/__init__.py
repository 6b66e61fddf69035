"""`ngs serve`: a page to try what networks have learned, and to watch runs.

command.py      the command
front.py        the page, and the endpoints as soon as they are loaded
guard.py        what every request passes
playground.py   the runs of a folder, and the views that their tasks have (`ngs.tasks.playground`)
app.py          the endpoints, and how they fail
runs_api.py     runs over HTTP; live_rows.py while they train
run_folders.py  the runs in a folder
results_api.py  the results of experiments, each a page
child.py        the playground in a process of its own
static          the page
"""
