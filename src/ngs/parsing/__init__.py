"""Distributions over the sentences of a grammar: how likely each is, given the scores of a network.

Read first: `distribution.py`, what every distribution offers; then `independent.py` and `autoregressive.py`,
the two kinds there are.

    distribution.py    Distribution: best, sample, topk, score, log_z; and one over a list of sentences
    independent.py     scores of each position by itself, restricted to the grammar by a chart
    autoregressive.py  a decoder that writes symbol by symbol, restricted by a constraint
    candidates.py      several sentences for each row of a batch, in one tensor
    sentence.py        parse: the tree of one sentence, by the slow reference parser; Sentences: a batch
    earley.py          generalized Earley parsing of one example, best first, also without known borders
    tables.py          which values each symbol can take at each length, compiled once
    circuit.py         a chart as data: rows, and the edges that combine them
    chart.py           one pass up and one pass down a circuit, in any semiring
    derivations.py     totals with gradients, the k best and sampled derivations of a batch
    cuda_graphs.py     a function of tensors captured as a CUDA graph and replayed
    scores.py          the scores of a network are checked once, where they come in

A distribution that knows the answer is made by `search`.
"""
