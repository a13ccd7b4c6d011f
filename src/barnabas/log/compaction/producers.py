"""The batches from which a lost producer table could be restored."""

from typing import NamedTuple

from barnabas.log.producers.table import ProducerTable


class LastOfProducer(NamedTuple):
    """The last batch of a producer, and its epoch."""

    last_offset: int
    """Of its last batch; -1 if it has stored none in its epoch."""
    epoch: int


def last_of_producers(producers: ProducerTable) -> dict[int, LastOfProducer]:
    """For every producer in the table."""
    return {
        producer_id: LastOfProducer(
            entry.batches[-1].last_offset if entry.batches else -1, entry.epoch
        )
        for producer_id, entry in producers
    }
