"""Sentences of different lengths in one tensor."""

PAD = -1
"""The symbol id that stands behind the end of a sentence."""
