"""What decodes a column of values."""

from typing import Protocol

import pyarrow as pa

from barnabas.formats.arrow.decoded import Decoded

__all__ = ["Decoded", "ValueDecoder"]


class ValueDecoder(Protocol):
    """Decodes values of one format by one schema."""

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """All values at once; null is a record without a value."""
