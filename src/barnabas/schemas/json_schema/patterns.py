"""Whether a pattern is found in a text, in a time that whoever wrote the pattern can't stretch.

Python's `re` takes exponential time for some patterns, and no other thread runs meanwhile. So
patterns are matched in linear time. Those that this can't do, such as lookarounds, are matched by
`re` if they repeat at most one thing and have few alternatives.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from barnabas.regex import InvalidPattern, LinearPattern

_MAX_REPEATS = 1
_MAX_CHOICES = 5
_MAX_TEXT = 1_000
"""Characters, for those that `re` matches: it may take the square of it."""
_PREFIXES = re.compile(r"\(\?(?:[:=!]|<[=!])")

Found = Callable[[str], bool]


class UnusablePatternError(ValueError):
    """A pattern that is none, or that could take too long."""


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern is found in a name. One that can't be used matches none."""
    try:
        return search(pattern)(name)
    except UnusablePatternError:
        return False


@lru_cache(maxsize=1_000)
def search(pattern: str) -> Found:
    """What looks for a pattern anywhere in a text. Raises `UnusablePatternError`."""
    try:
        return LinearPattern(f"(?s:.*)(?:{pattern})(?s:.*)").matches
    except InvalidPattern as error:
        problem = str(error)
    repeats = sum(pattern.count(each) for each in "*+{")
    choices = sum(_PREFIXES.sub("", pattern).count(each) for each in "?|")
    if repeats > _MAX_REPEATS or choices > _MAX_CHOICES:
        raise UnusablePatternError(problem)
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise UnusablePatternError(f"{pattern!r} is no regular expression: {error}") from None
    return lambda text: len(text) <= _MAX_TEXT and compiled.search(text) is not None
