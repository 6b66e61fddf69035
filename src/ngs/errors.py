"""What can go wrong, by layer. Every message says what was given, what was needed and what to do."""


class NGSError(ValueError):
    """Any error this package raises on purpose."""


class GrammarError(NGSError):
    """A grammar that cannot be read or used; the message names the rule and its line."""


class ParseError(NGSError):
    """A sentence outside the language, or a length at which the language is empty."""


class SemanticsError(NGSError):
    """A meaning that is missing, has the wrong number of arguments, or failed."""


class ShapeError(NGSError):
    """A tensor whose size or content does not fit the grammar."""


class BudgetError(NGSError):
    """An exact computation that would outgrow the budget it was given."""


class DataError(NGSError):
    """A data file, archive or checkpoint that cannot be used; the message names it and where."""


def check_setting(name: str, value: object, fits: bool, needed: str) -> None:
    """Refuse the value of a setting that cannot be."""
    if not fits:
        raise NGSError(f"{name} is {value!r}; it must be {needed}")
