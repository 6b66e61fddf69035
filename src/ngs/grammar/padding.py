"""Sentences of different lengths in one tensor."""

PAD = -1  # the symbol id that comes after the end of a sentence
