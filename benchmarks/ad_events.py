"""Pipelines on wide events of advertisements, compared with Spark's own Kafka connector.

Another shape than Nexmark: events of 120 columns (2.5 kB), of which queries use four, with skewed
keys, joined with a table, as `workloads.ad_events` describes. Measured as `nexmark` does.
"""

from benchmarks.bench import Bench, Row
from benchmarks.workloads.ad_events import ADS
from benchmarks.workloads.comparison import compare_all


def measure(bench: Bench) -> list[Row]:
    return compare_all(bench, ADS, 20_000 if bench.quick else 80_000)
