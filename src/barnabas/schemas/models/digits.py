"""How many digits a Decimal has: Avro needs to know."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Digits:
    """`Annotated[Decimal, Digits(12, 2)]`: 12 digits, 2 of them after the point."""

    precision: int
    scale: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.scale <= self.precision or self.precision < 1:
            raise ValueError(
                f"Digits({self.precision}, {self.scale}): give the number of all digits, and how "
                "many of them are after the point"
            )


def digits_in(annotations: Iterable[object]) -> Digits | None:
    """Those of an annotation, or of pydantic's `Field(max_digits=12, decimal_places=2)`."""
    for each in annotations:
        if isinstance(each, Digits):
            return each
        precision, scale = getattr(each, "max_digits", None), getattr(each, "decimal_places", None)
        if isinstance(precision, int):
            return Digits(precision, scale if isinstance(scale, int) else 0)
        inner = getattr(each, "metadata", None)
        found = digits_in(inner) if isinstance(inner, list | tuple) else None
        if found is not None:
            return found
    return None
