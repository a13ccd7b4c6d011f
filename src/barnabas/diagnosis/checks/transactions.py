"""Transactions that may stay open for ever: readers of committed records wait behind them."""

from collections.abc import Iterator

from barnabas.diagnosis.facts import Facts
from barnabas.diagnosis.finding import Finding, critical, warning


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


def left_open(facts: Facts) -> Iterator[Finding]:
    """Two-phase commit has no timeout: the program that prepared these has to end them."""
    for transactional_id in facts.left_open:
        yield warning(
            "transactions",
            f"the transaction of {transactional_id} is open longer than any with a timeout may be",
            f"restart what uses it, a pipeline for instance, so that it ends it; or roll it back: "
            f"barnabas transactions fence {transactional_id}",
        )
