"""Which sentences a language has, as symbols alone: no probabilities, no meanings, no networks.

Read first: `grammar.py`, what a grammar is and how symbols get their ids; then `constraint.py`, which
symbols may come next.

    grammar.py              Grammar: rules read from text, symbols with their ids; and `arithmetic`
    notation.py             the text of a grammar, in Lark's notation, made into rules
    rules.py                Terminal, Nonterminal and Rule, which print in the same notation
    validation.py           rules that could never be used or would never end are refused, with the remedy
    tree.py                 Sentence, Leaf, Node, Tree, and trees as text
    normal_form.py          Chomsky normal form for charts; its steps know the rules they come from
    ambiguity.py            whether each sentence of a length has one tree
    columns.py              the item sets (columns) of an Earley parser, without positions
    automaton.py            the prefix automaton: which symbols may come next after a prefix
    lengths.py              in how many symbols a prefix can be completed
    multisets.py            whether a multiset of symbols can complete a prefix
    constraint.py           which sentences are allowed, for a batch of tensors and one symbol at a time
    prefix_constraint.py    any grammar as a constraint
    multiset_constraint.py  a known multiset as a constraint
    padding.py              PAD, the id after the end of a sentence
    data                    grammars as text files

The grammar of a task lies with the task.
"""
