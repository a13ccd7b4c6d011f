"""Numbers that people give, held to what makes sense of them."""

from barnabas.errors import InvalidArgument


def check_at_least(least: float, **numbers: float | None) -> None:
    """Raise for the first one that is no number or too small; None stands for no bound."""
    for name, number in numbers.items():
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise TypeError(f"{name} is a number, not {type(number).__name__}")
        if not number >= least:
            raise InvalidArgument(f"{name}={number}: it must be at least {least}")
