"""By what a partition's producers are known, should the table of them be lost."""

from typing import NamedTuple

from barnabas.log.producers.table import ProducerTable


class LastOfProducer(NamedTuple):
    """The last batch of a producer, or else, if all that is there is a marker, its epoch."""

    last_offset: int
    """Of its last batch; -1 if it has stored none in its epoch."""
    epoch: int


def last_of_producers(producers: ProducerTable) -> dict[int, LastOfProducer]:
    """Of every producer that is remembered."""
    return {
        producer_id: LastOfProducer(
            entry.batches[-1].last_offset if entry.batches else -1, entry.epoch
        )
        for producer_id, entry in producers
    }
