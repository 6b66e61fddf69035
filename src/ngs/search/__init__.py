"""Search for sentences that give the right answer: back-search, and exact posteriors.

Read first: `edits.py`, what one step may change and the contract it keeps; then `back_search.py`.

    edits.py        Edits, Substitute (those of the paper), Switch, Rearrange
    back_search.py  1-BS and m-BS for a whole batch and any edits; `log_ratio` derives the acceptance ratio
    one_step.py     Algorithm 1 of Li et al. (2020), with its queue and a trace: the reference of 1-BS
    correction.py   the correction of one sentence as a value, with every step of its search
    multi_step.py   Algorithm 2, one sentence at a time in plain Python: the reference of m-BS
    judges.py       is f(z) = y? By tables for a batch, or by parsing and executing each sentence
    compiled.py     the tables of all values of a grammar with its semantics, compiled once and cached
    support.py      the right sentences as the support of p(z|x,y): by tables, a beam, or a list
    beam.py         the most likely values of each span, where the tables would be too large
    memory.py       right sentences that were found, a few for each example
    reasoner.py     all that learning asks about the examples of a task

To add a kind of edits, write a subclass of `Edits` with one method, `neighbours`; test it with `check_all` of
`tests/search/edits_contract.py`, and give it to `reasoner(..., edits=...)`.
"""
