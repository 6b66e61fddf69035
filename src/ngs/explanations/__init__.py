"""One correction explained: the tree, the search and its result, in words or as a picture.

Read first: `text.py`, which shows all that there is to tell.

    text.py     as_text: a correction in words
    drawing.py  as_svg: trees and corrections as one SVG

The search itself is `ngs.search.one_step`. What only one task's sentences need lies with the task.
"""
