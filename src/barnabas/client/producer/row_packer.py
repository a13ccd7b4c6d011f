"""An open batch: records are encoded as they come, each for a receipt.

Both classes are the compiled kernel's if there is one, which matters because `add` is what a
producer does for every record. In C it takes no lock, since nothing runs between the look at the
limits and the last byte; `plain_row_packer`, which describes them, has one for it.

`add` declines, by returning None, whatever is not ordinary, without the reason: a batch that is
closed or full, a record of unusual types, a timestamp before 1970. The caller finds out which it
was. So the common case is one call, and the rare ones stand in Python.

They stand in this package because of their lock and clock: `barnabas.records` has neither.
"""

from typing import TYPE_CHECKING

from barnabas.client.producer.plain_row_packer import MAX_BATCH_BYTES
from barnabas.records.compression import Compression
from barnabas.records.kernel import kernel
from barnabas.records.packed import PackedRecords, pack_payload

if TYPE_CHECKING or kernel is None:
    from barnabas.client.producer.plain_row_packer import PlainReceipt as Receipt
    from barnabas.client.producer.plain_row_packer import PlainRowPacker as RowPacker
else:
    Receipt = kernel.Receipt
    RowPacker = kernel.RowPacker

__all__ = ["MAX_BATCH_BYTES", "Receipt", "RowPacker", "pack_rows"]


def pack_rows(
    packer: RowPacker[Receipt], compression: Compression = Compression.NONE
) -> PackedRecords:
    """The records of an open batch, which is closed by it, ready to be sealed."""
    buffer, record_count, base_timestamp, max_timestamp = packer.take()
    return pack_payload(buffer, compression, record_count, base_timestamp, max_timestamp)
