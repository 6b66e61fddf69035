"""Where the kernel of a decoder looks for the rules it follows: `ngs.grammar.constraint` has them."""

from __future__ import annotations

from ngs.grammar.constraint import KernelRule as Rule

__all__ = ["Rule"]
