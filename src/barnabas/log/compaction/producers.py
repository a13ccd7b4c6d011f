"""The batches from which a lost producer table could be restored."""

from typing import NamedTuple

from barnabas.log.producers.table import ProducerTable


class RememberedBatches(NamedTuple):
    """The batches of a producer by which its retries are recognized, and its epoch."""

    last_offsets: tuple[int, ...]
    """Of each; none if it has stored nothing in its epoch."""
    epoch: int


def remembered_batches(producers: ProducerTable) -> dict[int, RememberedBatches]:
    """Of every producer in the table."""
    return {
        producer_id: RememberedBatches(
            tuple([batch.last_offset for batch in entry.batches]), entry.epoch
        )
        for producer_id, entry in producers
    }
