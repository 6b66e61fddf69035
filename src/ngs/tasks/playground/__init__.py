"""The views of tasks in the playground (`ngs serve`), and what they share.

    view.py      View: a tab of the page with the endpoints behind it; Server: the state of all views
    visitors.py  visitors, and the data of each
    limits.py    limits of requests and jobs
    messages.py  parts of requests and answers
    training.py  training a first network in the background

Needs `ngs[serve]`: only a starting server imports it. The server itself is in `ngs.apps.serve`.
"""
