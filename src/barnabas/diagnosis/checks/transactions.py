"""Transactions that no coordinator will end: readers of committed records wait behind them."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, critical


def hanging(facts: Facts) -> Iterator[Finding]:
    for each in facts.hanging:
        topic, partition = each.partition
        yield critical(
            "transactions",
            f"a transaction of producer {each.producer_id} hangs in {each.partition} from offset "
            f"{each.transaction_start_offset} on",
            f"barnabas transactions abort {topic}:{partition} --start-offset "
            f"{each.transaction_start_offset}",
        )
