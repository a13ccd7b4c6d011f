"""Pipelines on Spark that run the queries of Nexmark, compared with Spark's own Kafka connector.

Nexmark (https://github.com/nexmark/nexmark) is what stream processors are compared by: persons,
auctions and bids as nested JSON, of 270 bytes, from one topic of four partitions to another, in
four micro-batches. `workloads.contenders` says which three ways are compared, and
`workloads.nexmark_queries` how the queries are written. Rows are events a second of the triggers,
and CPU of the JVM and of Python, with the query's start, for each event. What was written is
compared with what a batch computes of the same events.
"""

from benchmarks.bench import Bench, Row
from benchmarks.workloads.comparison import compare_all
from benchmarks.workloads.nexmark_queries import NEXMARK


def measure(bench: Bench) -> list[Row]:
    return compare_all(bench, NEXMARK, 400_000 if bench.quick else 1_000_000)
