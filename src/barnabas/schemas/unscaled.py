"""Decimal numbers as whole numbers and a scale, as Avro has them, without rounding.

Methods of `Decimal` round to the 28 digits of the current context.
"""

from decimal import Decimal


class DecimalTooLargeError(ValueError):
    """It has more digits than the precision."""


def unscaled(value: Decimal, precision: int, scale: int) -> int | None:
    """The value times 10 to the scale; None if that is not whole. Raises `DecimalTooLargeError`.

    `value` has to be finite.
    """
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if not value:
        return 0
    zeros = exponent + scale
    if zeros < 0:
        if any(digits[zeros:]):
            return None
        digits = digits[:zeros]  # 1.500 is 1.5
    if len(digits) + max(zeros, 0) > precision:
        raise DecimalTooLargeError(f"{value} has more than {precision} digits")
    return int(Decimal((sign, digits, max(zeros, 0))))
