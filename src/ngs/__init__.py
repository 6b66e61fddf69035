"""Learn what a network should see from what the answer should be.

Grammars as text, parsing of neural probabilities inside them, reasoning trees with inverses, one-step
and multi-step back-search, exact posteriors. After Li et al., "Closed Loop Neural-Symbolic Learning via
Integrating Neural Perception, Grammar Parsing, and Symbolic Reasoning", ICML 2020.

`__init__.pyi` lists the public names. Each folder is a layer, and its `__init__.py` says what is in it:
`grammar`, `parsing`, `reasoning`, `search`, `learning`, `networks`, `console`, `tasks`,
`experiments`, `apps`. A layer imports only from those before it.
"""

import ast
from importlib import import_module
from importlib.resources import files
from typing import Any


def _homes() -> dict[str, tuple[str, str]]:
    """The module and the name there of each public name, as the stub imports them."""
    stub = ast.parse(files("ngs").joinpath("__init__.pyi").read_text(encoding="utf-8"))
    imports = (node for node in stub.body if isinstance(node, ast.ImportFrom))
    return {str(alias.asname): (str(node.module), alias.name) for node in imports for alias in node.names}


_HOMES = _homes()
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used.

    So `import ngs` is instant, the core needs nothing that only training needs, and the command line can set
    up its process before PyTorch is loaded.
    """
    if name not in _HOMES:
        raise AttributeError(f"module 'ngs' has no attribute {name!r}")
    module, original = _HOMES[name]
    home = import_module(module)
    value = getattr(home, original) if hasattr(home, original) else import_module(f"{module}.{original}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
