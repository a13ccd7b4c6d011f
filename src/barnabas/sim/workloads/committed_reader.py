"""A consumer that wants committed records only: it leaves out those of aborted transactions."""

from barnabas.records.decode import decode_batch, iter_batches
from barnabas.sim.checks.history import Place, Violation
from barnabas.sim.checks.transaction_history import TransactionHistory
from barnabas.sim.client import Client
from barnabas.sim.workloads.consumer import Consumer
from barnabas.wire.messages.fetch import PartitionData


class CommittedReader(Consumer):
    """Reads every batch in order, and reports the records that an application would see."""

    isolation_level = 1

    def __init__(
        self,
        client: Client,
        name: str,
        places: list[Place],
        transaction_history: TransactionHistory,
        *,
        rack: str = "",
    ) -> None:
        super().__init__(client, name, places, rack=rack)
        self._transaction_history = transaction_history

    def _take(self, place: Place, host: str, answer: PartitionData) -> None:
        aborted = sorted(
            (one.first_offset, one.producer_id) for one in answer.aborted_transactions or ()
        )
        left_out: set[int] = set()
        start = self.positions[place]
        for header, batch in iter_batches(answer.records or b""):
            position = self.positions[place]
            if header.base_offset != position and not header.base_offset < position == start:
                raise Violation(
                    f"{place}: {self._name} asked for {position} and got {header.base_offset} "
                    f"from {host}"
                )
            if header.next_offset > answer.last_stable_offset:
                raise Violation(
                    f"{place}: {host} serves {header.base_offset} as committed, and only "
                    f"{answer.last_stable_offset} are stable"
                )
            while aborted and aborted[0][0] < header.next_offset:
                left_out.add(aborted.pop(0)[1])
            if header.is_control:
                left_out.discard(header.producer_id)
            else:
                for record in decode_batch(batch):
                    value = bytes(record.value or b"")
                    self._client.history.read(place, record.offset, value)
                    if not (header.is_transactional and header.producer_id in left_out):
                        self._transaction_history.read(place, record.offset, value)
            self.positions[place] = header.next_offset
