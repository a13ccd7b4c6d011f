"""What checks of Avro values have in common."""

from collections.abc import Callable
from typing import Any

from barnabas.errors import ValidationFailed

Check = Callable[[Any], Any]
"""Returns a value as fastavro takes it. Raises `ValidationFailed`."""
_SHOWN = 60


def expected(what: str, value: Any) -> ValidationFailed:
    """It does not fit; the value is shown in short."""
    shown = repr(value)
    return ValidationFailed("", f"expected {what}, got {shown[:_SHOWN]}{'...' * (len(shown) > 60)}")
