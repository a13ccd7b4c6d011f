"""Read, work, write, exactly once: every order becomes one invoice, although work fails half-way.

    barnabas server &
    python examples/exactly_once.py [BOOTSTRAP] [ORDERS]

The invoices and how far the orders were read are committed together, or not at all. So whoever
starts this anew, after a `kill -9` too, goes on where the last transaction ended. Invoices that
were written in vain stay in the log, and readers with `read_committed` never see them.

Written with confluent-kafka, as for any Kafka.
"""

import sys

from confluent_kafka import Consumer, KafkaException, Message, Producer

WORKER = "billing-1"  # names a place in the work: it stays the same when the process starts anew


def open_consumer(bootstrap: str, group: str, topic: str) -> Consumer:
    """A reader that sees only what was committed."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,  # the transactions commit
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    return consumer


def read(consumer: Consumer) -> list[Message]:
    """Some records, or none if none come."""
    return [each for each in consumer.consume(100, timeout=1) if not each.error()]


def write_invoices(producer: Producer, orders: list[Message], *, fails: bool) -> None:
    """The work. A printer that is on fire is a good reason to fail."""
    for number, order in enumerate(orders):
        if fails and number == len(orders) // 2:
            raise OSError("lp0 on fire")
        producer.produce("invoices", b"to pay: " + (order.value() or b""), order.key())


def work(bootstrap: str, count: int) -> None:
    """One transaction after the other; the first one fails."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": WORKER})
    producer.init_transactions(30)  # shuts out an older billing-1, and rolls back what it left
    consumer = open_consumer(bootstrap, "billing", "orders")
    done = transactions = 0
    while done < count:
        orders = read(consumer)
        if not orders:
            continue
        transactions += 1
        producer.begin_transaction()
        try:
            write_invoices(producer, orders, fails=transactions == 1)
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()), consumer.consumer_group_metadata()
            )
            producer.commit_transaction(30)
            done += len(orders)
        except (OSError, KafkaException) as problem:
            if isinstance(problem, KafkaException) and not problem.args[0].txn_requires_abort():
                raise  # fenced, or worse: end this process and start anew
            print(f"rolled back: {problem}")
            producer.abort_transaction(30)
            for partition in consumer.committed(consumer.assignment()):
                consumer.seek(partition)  # read the same orders again
    consumer.close()
    print(f"{done} orders worked on, in {transactions} transactions")


def main(bootstrap: str, count: int) -> None:
    """Send the orders, work on them, and look at the invoices."""
    shop = Producer({"bootstrap.servers": bootstrap})
    for number in range(count):
        shop.produce("orders", f"order {number}", key=f"user-{number % 7}")
    if shop.flush(30):
        sys.exit("not all orders could be sent")
    work(bootstrap, count)
    consumer = open_consumer(bootstrap, "archive", "invoices")
    invoices: list[bytes | None] = []
    while len(invoices) < count:
        invoices += [each.value() for each in read(consumer)]
    invoices += [each.value() for each in read(consumer)]  # there should be no more
    consumer.commit(asynchronous=False)
    consumer.close()
    print(f"{len(invoices)} invoices, {len(invoices) - len(set(invoices))} of them twice")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(
        arguments[0] if arguments else "localhost:9092",
        int(arguments[1]) if len(arguments) > 1 else 500,
    )
