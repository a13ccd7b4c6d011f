"""An application to be tested: it reads orders and writes an invoice for each.

It is written with confluent-kafka and knows nothing of Barnabas. An order counts as done when its
invoice is stored, so after a crash some invoices may be written twice, and none is missing.
"""

from contextlib import suppress

from confluent_kafka import Consumer, KafkaException, Message, Producer

IMPATIENT = {"socket.timeout.ms": 3_000}
"""How long a broker that is reached and says nothing is waited for. The tests have shown that by
default it is a minute, in which a machine that hangs takes the whole application along."""


class Invoicing:
    """One worker. Several with the same group share the orders."""

    def __init__(self, bootstrap_servers: str, orders: str, invoices: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "invoicing",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": 6_000,
                **IMPATIENT,
            }
        )
        self._producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, **IMPATIENT}
        )
        self._consumer.subscribe([orders])
        self._invoices = invoices

    def work(self, seconds: float = 1.0) -> int:
        """Wait for an order for so long; how many have got their invoices."""
        orders = [order for order in self._consumer.consume(100, seconds) if not order.error()]
        for order in orders:
            text = (order.value() or b"").decode()
            self._producer.produce(
                self._invoices, f"invoice for {text}", key=order.key(), on_delivery=_check
            )
        self._producer.flush()
        if orders:
            with suppress(KafkaException):  # then these orders come again, here or elsewhere
                self._consumer.commit(asynchronous=False)
        return len(orders)

    def close(self) -> None:
        self._consumer.close()


def _check(error: object, invoice: Message) -> None:
    if error is not None:
        raise KafkaException(f"no invoice for {invoice.key()!r}: {error}")
