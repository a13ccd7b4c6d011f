"""Numbers, sizes and long lists in sentences, as people read them."""

from collections.abc import Sequence

_SHOWN = 5


def counted(number: int, noun: str) -> str:
    """A number and its noun: 1 record, 2,000 records."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def counted_of(part: int, whole: int, noun: str) -> str:
    """A part of a number: 1 of 1 record, 2 of 3,000 records."""
    return f"{part:,} of {counted(whole, noun)}"


def agreeing(number: int, singular: str, plural: str) -> str:
    """The verb that goes with a number of subjects: 1 record was, 2 records were."""
    return singular if number == 1 else plural


def human_size(size: int) -> str:
    """Bytes as people read them."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def some(names: Sequence[object]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(map(str, names[:_SHOWN])) + more
