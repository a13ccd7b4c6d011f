"""Read, work, write, exactly once: every order becomes one invoice, though the work fails midway.

    barnabas server &
    python examples/exactly_once.py [BOOTSTRAP]

The invoices, and how far the orders were read, are committed together or not at all. So
a restart, also after `kill -9`, continues where the last transaction ended.
"""

import argparse
from collections.abc import Iterable

from barnabas import Consumer, Message, Producer

ORDERS = 500
WORKER = "billing-1"  # names a place in the work: it stays the same when the process restarts


def order(bootstrap: str) -> None:
    with Producer(bootstrap, key_format="str", value_format="str") as producer:
        for number in range(ORDERS):
            producer.send("orders", f"order {number}", key=f"user-{number % 7}")


def write_invoices(producer: Producer, orders: Iterable[Message], *, fails: bool) -> int:
    """The work. A printer that is on fire is a good reason to fail."""
    count = 0
    for each in orders:
        if fails and count == 50:
            raise OSError("lp0 on fire")
        producer.send("invoices", f"to pay: {each.value}")
        count += 1
    return count


def work(bootstrap: str) -> int:
    done = transactions = 0
    with (
        Consumer(
            bootstrap, "orders", group="billing", commit="manual", value_format="str"
        ) as consumer,
        Producer(bootstrap, transactional_id=WORKER, value_format="str") as producer,
    ):
        while done < ORDERS:
            orders = consumer.poll(max_records=100)
            if not orders:
                continue
            transactions += 1
            try:
                with producer.transaction(consumer):
                    done += write_invoices(producer, orders, fails=transactions == 2)
            except OSError as problem:
                print(f"rolled back: {problem}")  # the next poll has the same orders again
    print(f"{done} orders worked on, in {transactions} transactions")
    return done


def main(bootstrap: str) -> None:
    order(bootstrap)
    done = work(bootstrap)
    with Consumer(bootstrap, "invoices", value_format="str") as consumer:
        invoices = [each.value for each in read_all(consumer, done)]
    print(f"{len(invoices)} invoices, {len(invoices) - len(set(invoices))} of them twice")


def read_all(consumer: Consumer, at_least: int) -> Iterable[Message]:
    """So many, and all that come until nothing comes for a second."""
    count = 0
    while (messages := consumer.poll(timeout_s=1)) or count < at_least:
        count += len(messages)
        yield from messages


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
