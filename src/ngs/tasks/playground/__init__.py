"""What tasks show in the playground (`ngs serve`): a `View` each, made of what is here.

    view.py      View: a tab of the page with the endpoints behind it; Server: what all views share
    visitors.py  who is on the page, and what is kept of each
    limits.py    how much one may ask, and how many at once
    messages.py  what requests and answers are made of
    training.py  training a first network while the page is looked at

Needs `ngs[serve]`: it is imported when a server starts, and by nothing else. The server itself is in
`ngs.apps.serve`.
"""
