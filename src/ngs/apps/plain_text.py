"""Text printed as it is."""

from __future__ import annotations

from rich.console import Console


def tell(console: Console, text: str) -> None:
    """File names may hold brackets, which are no markup, and must not be broken."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)
