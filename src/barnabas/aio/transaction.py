"""Records that become visible together, or not at all."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from barnabas.aio.waiting import Client
from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.client.producer.producer_core import ProducerCore
from barnabas.client.producer.transaction import ProducerTransaction
from barnabas.errors import ClientClosed


class Transaction:
    """A transaction from `Producer.transaction`: a context manager for a single use."""

    def __init__(
        self, client: Client, core: ProducerCore, transaction: ProducerTransaction
    ) -> None:
        self._client = client
        self._core = core
        self._transaction = transaction

    async def __aenter__(self) -> Self:
        await self._client._wait(self._core.begin(self._transaction))
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self._client._wait(self._transaction.leave(error))
        except ClientClosed as closed:
            if error is None:
                raise
            error.add_note(f"The transaction was not ended: {closed}")

    def annotate(self, texts: Mapping[TopicPartition, str]) -> None:
        """Commit metadata with the consumer's offsets of these partitions; other tools show it."""
        self._transaction.annotate(texts)

    async def roll_back(self) -> None:
        """Roll the transaction back now; leaving the block then does nothing."""
        await self._client._wait(self._transaction.abort())
