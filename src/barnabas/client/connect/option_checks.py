"""Numbers that people give, held to what makes sense of them."""

from barnabas.errors import InvalidArgument


def check_number(name: str, number: object) -> None:
    """Raise TypeError unless it is a number."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise TypeError(f"{name} is a number, not {type(number).__name__}")


def check_at_least(least: float, **numbers: float | None) -> None:
    """Raise for the first one that is no number or too small; None stands for no bound."""
    for name, number in numbers.items():
        if number is None:
            continue
        check_number(name, number)
        if not number >= least:
            raise InvalidArgument(f"{name}={number}: it must be at least {least}")
