"""Replay: a bug has been fixed, so the same messages are read again, from before it.

    barnabas server &
    python examples/replay.py [BOOTSTRAP]

Reading takes nothing out of a topic. A group's place in it is a bookmark, and can be put back: to
an offset, to a time, or to the very beginning.
"""

import argparse
import time
from collections.abc import Callable
from datetime import UTC, datetime

from barnabas import Admin, Consumer, Producer

Sale = dict[str, int]


def sell(bootstrap: str, first: int, count: int) -> None:
    """Every tenth sale is a refund."""
    with Producer(bootstrap, value_format="json") as producer:
        for number in range(first, first + count):
            producer.send("sales", {"euros": -10 if number % 10 == 0 else 10})


def with_a_bug(sale: Sale) -> int:
    return abs(sale["euros"])


def fixed(sale: Sale) -> int:
    return sale["euros"]


def revenue(bootstrap: str, worth: Callable[[Sale], int], count: int) -> int:
    """The revenue of the next sales, so many."""
    total = 0
    with Consumer(bootstrap, "sales", group="revenue", value_format="json") as consumer:
        for sale in consumer:
            total += worth(sale.value)
            count -= 1
            if count == 0:
                break
    return total  # the group's bookmark is behind these sales now


def rewind(bootstrap: str, to: datetime) -> None:
    with Admin(bootstrap) as admin:
        admin.set_group_offsets("revenue", to)


def main(bootstrap: str) -> None:
    sell(bootstrap, 0, 50)
    print(f"Monday: {revenue(bootstrap, fixed, 50)} euros")
    deployed = datetime.now(UTC)
    time.sleep(0.01)
    sell(bootstrap, 50, 100)
    print(f"Tuesday: {revenue(bootstrap, with_a_bug, 100)} euros, says the new version")
    rewind(bootstrap, deployed)
    print(f"Tuesday: {revenue(bootstrap, fixed, 100)} euros, says the fixed one")
    sell(bootstrap, 150, 10)
    print(f"Wednesday: {revenue(bootstrap, fixed, 10)} euros")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
