"""A compacted topic as a table: the current value of each key, in memory."""

# Made from ../aio/table.py by `make sync`: change it there.

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeVar

from barnabas.client.connect.address import BootstrapServers
from barnabas.client.connect.cluster_client import ClusterClient
from barnabas.client.connect.option_checks import check_at_least
from barnabas.client.connect.security_settings import SecurityValue, security_settings
from barnabas.client.consumer.consumer_options import IsolationName
from barnabas.client.consumer.table_core import TableCore
from barnabas.client.offsets.isolation import isolation_level
from barnabas.errors import InvalidArgument, TableNotLoaded
from barnabas.formats import Format, FormatName, decoder, encoder
from barnabas.sync.waiting import Client

T = TypeVar("T")


class Table(Client):
    """The current value of each key of a topic, as a read-only dict that stays current.

        with barnabas.Table("localhost:9092", "prices", key_format="str") as prices:
            print(prices["apple"])

    Entering the block reads the topic to its end; from then on the table follows it in the
    background, and lookups do not block. Records without a value (tombstones) delete their key;
    records without a key are ignored. All keys and values are in memory, as bytes: about 150 bytes
    for each key in addition to the sizes of key and value.

    Several tasks may use a table.
    """

    def __init__(
        self,
        bootstrap_servers: BootstrapServers = "localhost:9092",
        topic: str = "",
        *,
        key_format: FormatName | Format = "bytes",
        value_format: FormatName | Format = "bytes",
        isolation: IsolationName = "read_committed",
        client_id: str = "barnabas",
        security: Mapping[str, SecurityValue] | None = None,
    ) -> None:
        """The client connects when it is first used.

        - `topic`: usually one with `cleanup.policy=compact`. Records that retention deletes from
          another topic stay in the table until it is opened again.
        - `key_format`, `value_format`: a key is encoded to look it up, so keys are equal if their
          bytes are. Values are decoded on lookup, and a value that can't be decoded raises then.
        - `isolation`: "read_uncommitted" includes values of open and aborted transactions.
        - `security`: Kafka's client settings for encryption and authentication, such as
          {"security.protocol": "SSL", "ssl.ca.location": "ca.pem"}.
        """
        self._encode_key = encoder(key_format, "key_format")
        self._decode_key = decoder(key_format, "key_format")
        self._decode_value = decoder(value_format, "value_format")
        if not topic:
            raise InvalidArgument("topic is missing: Table(bootstrap_servers, topic)")
        cluster = ClusterClient(
            bootstrap_servers, client_id=client_id, security=security_settings(security)
        )
        self._core = TableCore(cluster, topic, isolation_level(isolation))
        super().__init__(self._core)

    def __enter__(self) -> Self:
        try:
            self.wait_until_current()
        except BaseException:
            self.close()
            raise
        return self

    def wait_until_current(
        self, timeout_s: float | None = None, *, open_transactions: bool = False
    ) -> None:
        """Wait until the table has all records that the topic had when this was called.

        Call it to see a write that was acknowledged before. With `open_transactions`, it also waits
        for the ends of transactions that have written to the topic: of those that are committed in
        this moment, group offsets may be visible and the records not yet. Do not wait in a
        transaction that has written to the topic itself.

        Raises `RequestTimedOut` after `timeout_s`; the table continues to read.
        """
        if timeout_s is not None:
            check_at_least(0, timeout_s=timeout_s)
        self._wait(self._core.wait_until_current(timeout_s, open_transactions))

    # -- looking up ----------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        data = self._entries()[self._bytes_of(key)]
        return self._decode_value(data)

    def get(self, key: Any, default: T | None = None) -> Any | T | None:
        """The value of a key, or `default`."""
        data = self._entries().get(self._bytes_of(key))
        return default if data is None else self._decode_value(data)

    def __contains__(self, key: Any) -> bool:
        return self._bytes_of(key) in self._entries()

    def __len__(self) -> int:
        return len(self._entries())

    def __iter__(self) -> Iterator[Any]:
        """Keys, as they were when iteration began."""
        return map(self._decode_key, list(self._entries()))

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Keys and values, as they were when this was called."""
        decode_key, decode_value = self._decode_key, self._decode_value
        entries = list(self._entries().items())
        return ((decode_key(key), decode_value(value)) for key, value in entries)

    def _entries(self) -> dict[bytes, bytes]:
        self._registration.check()
        if self._core.failure is not None:
            raise self._core.failure
        if not self._core.is_loaded:
            raise TableNotLoaded(
                "the table has not read its topic yet: use it as a context manager, or call "
                "wait_until_current first"
            )
        return self._core.entries

    def _bytes_of(self, key: Any) -> bytes:
        data = self._encode_key(key)
        if data is None:
            raise TypeError("None is no key: records without a key are not in a table")
        return data
