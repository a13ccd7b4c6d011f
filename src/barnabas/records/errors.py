"""Errors in record batches.

`CorruptBatch` and its kind are raised by readers; `InvalidBatch` is a broker's refusal and carries
the error code that the producer gets. Nothing in this package raises anything else because of the
bytes it was given.
"""

from collections.abc import Sequence

from barnabas.wire.errors import ErrorCode


class RecordsError(Exception):
    """The base of all errors that invalid bytes cause in this package."""


class CorruptBatch(RecordsError):  # noqa: N818 - says what the bytes are
    """The bytes are not a well-formed record batch of format v2."""


class CorruptPayload(CorruptBatch):
    """The compressed records do not decompress."""


class UnsupportedCompression(CorruptBatch):
    """The compression id in the attributes is unknown."""


class TimestampOverflow(CorruptBatch):
    """A record's timestamp does not fit in 64 bits."""


class DecompressionBomb(RecordsError):  # noqa: N818 - says what the bytes are
    """The decompressed records take more memory than the reader allows."""


class InvalidBatch(RecordsError):  # noqa: N818 - says what the bytes are
    """A produced batch that the broker refuses, with the code for the response.

    `record_errors` has the index and the error of each record, if single records were refused.
    """

    def __init__(
        self,
        error_code: ErrorCode,
        message: str,
        record_errors: Sequence[tuple[int, str]] = (),
    ) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.message = message
        self.record_errors = record_errors
