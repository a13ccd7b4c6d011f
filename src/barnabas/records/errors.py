"""What can be wrong with a record batch.

`CorruptBatch` and its kind are raised by readers; `InvalidBatch` is a broker's refusal and carries
the error code that the producer gets. Nothing in this package raises anything else because of the
bytes it was given.
"""

from collections.abc import Sequence

from barnabas.wire.errors import ErrorCode


class RecordsError(Exception):
    """The root of everything this package raises because of its input bytes."""


class CorruptBatch(RecordsError):  # noqa: N818 - says what the bytes are
    """The bytes are no well-formed record batch of format v2."""


class CorruptPayload(CorruptBatch):
    """The compressed records do not decompress."""


class UnsupportedCompression(CorruptBatch):
    """The compression id in the attributes is none of Kafka's."""


class TimestampOverflow(CorruptBatch):
    """A record's timestamp does not fit in 64 bits."""


class DecompressionBomb(RecordsError):  # noqa: N818 - says what the bytes are
    """The compressed records would take more memory than the reader allows."""


class InvalidBatch(RecordsError):  # noqa: N818 - says what the bytes are
    """A produced batch that the broker refuses, with the code for the response.

    `record_errors` names the records it was refused for, if it was for single ones: their index
    in the batch, and what is wrong with each.
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
