"""What a sentence means: the value of its tree, by ordinary Python functions.

Read first: `semantics.py`, how the names in a grammar find their functions; then `operation.py`, how a
function is inverted.

    semantics.py       Semantics, a class with one function for each rule; evaluate, the value of a tree
    operation.py       Operation, with its inverses; UNDEFINED, ANY and OneOf
    arithmetic.py      the four operations over exact fractions, with their inverses
    elementwise.py     the values of all pairs of arguments at once, where a function takes arrays
    fraction_array.py  arrays of fractions, for the same purpose

The meaning of a task's symbols lies with the task; arithmetic is here because every layer uses it.
"""
