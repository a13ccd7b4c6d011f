"""What operators ask of a share partition: how many records are with members, and how often records
were delivered."""

from collections.abc import Iterable
from typing import NamedTuple

from barnabas.share.in_flight_batch import InFlightBatch
from barnabas.share.record_state import RecordState


class InFlightSummary(NamedTuple):
    """Counts of the records between the start offset and the first one never delivered."""

    acquired: int
    """With a member."""
    released: int
    """Delivered before, and available again."""
    done: int
    """Accepted, rejected or given up, behind a record that is not."""
    deliveries: dict[int, int]
    """How many acquired and released records were delivered once, twice, and so on."""


def summarize(batches: Iterable[InFlightBatch]) -> InFlightSummary:
    acquired = released = done = 0
    deliveries: dict[int, int] = {}
    for batch in batches:
        if batch.state.is_terminal:
            done += len(batch)
            continue
        if batch.state is RecordState.ACQUIRED:
            acquired += len(batch)
        elif batch.delivery_count:
            released += len(batch)
        else:
            continue  # between stored records; no leader knows of a delivery
        deliveries[batch.delivery_count] = deliveries.get(batch.delivery_count, 0) + len(batch)
    return InFlightSummary(acquired, released, done, dict(sorted(deliveries.items())))
