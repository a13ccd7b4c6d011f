"""Measures the broker, side by side with a bare one, and prints a table.

    python -m benchmarks [MEASUREMENT ...] [--quick] [--json FILE]
                         [--partitions N] [--megabytes N]
                         [--against HOST:PORT --against-pid PID]

throughput      broker CPU per GB in and out, records of 100 B and 1 kB
single_records  broker CPU per request that carries one record, and how many a second
latency         from produce to consume at 500 records a second
startup         time to the first acknowledged record, memory and CPU at rest
imports         CPU and modules of commands and imports until they are at work, vs. Python alone
partitions      broker CPU per message, from 1 to 1,000 partitions
connections     broker CPU per message, from 1 to 500 connections
compaction      a compacted topic of 5 GB: time, CPU, memory, and produce p99 meanwhile
transactions    throughput, latency and CPU with idempotence and transactions, vs. without
read_committed  consumer throughput and broker CPU of read_committed vs. read_uncommitted
failover        kill -9 of a leader until the next acknowledged write and the next consumed record
replication     acks=all throughput and latency, three replicas vs. one
offset_commits  committed offsets a second, flushed before the acknowledgement vs. not
catch_up        how fast a returning follower catches up, vs. a consumer
controller      10,000 partitions: created, and failover with them
idle_cluster    CPU and memory of three nodes at rest
backup          speed and CPU of a backup, its verification and a restore
elastic         a new node gets its share of partitions; a rolling restart
queues          jobs a second, CPU and latency of share groups, vs. a real Kafka and RabbitMQ
rebalances      partitions that are not read while members join, leave and die, in both protocols
security        CPU of TLS and of handshakes, vs. a real Kafka's; of access rules and of a quota
metrics         broker CPU with metrics vs. without
scrape          a scrape of 10,000 partitions: time, size, and how long other requests wait for it
turns           how long the largest request of each API keeps the event loop of a node
registry        requests a second and times of the schema registry, vs. another one
app             handled records a CPU second of applications, vs. other frameworks
clients         records a second, and a CPU second, of our client vs. others
columns         records encoded and decoded a second, as objects and as columns, with and without C
record_check    what a broker pays for looking at every record, with and without C
avro            Avro values to Arrow columns, with and without C, vs. fastavro
spark_reads     rows a second and CPU of Spark reading a topic, vs. Spark's own Kafka connector
spark_writes    the same for Spark writing to a topic, and from one topic to another
nexmark         the queries of Nexmark as pipelines, vs. the same with Spark's own connector
ad_events       pipelines on wide and skewed events of advertisements, vs. the same
decoding        CPU of decoding values in the reader: JSON vs. from_json, registered Avro
simulator       simulated seconds of whole clusters per CPU second
mirror          a mirror's MB/s, CPU per GB and latency, vs. Mirror Maker 2
changes         changes of a PostgreSQL into a topic: speed, CPU, latency, vs. Debezium

Each module says what its numbers mean. The ratio compares Barnabas with `bare_broker.py`, a broker
stripped of everything: what is left is the price of being a real one. Those of
transactions, of clusters, of clients and of records have their own tables, with the baseline of
each figure. `--against` adds a column for any Kafka-compatible broker that you run
yourself on this machine; a topic called barnabas-bench is made in it and deleted, again and again.
"""

import argparse
import io
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from benchmarks.bench import (
    AIOKAFKA,
    ASYNCIO,
    BASELINE,
    CLASSIC,
    CLUSTER,
    CONFLUENT,
    CONNECTOR,
    CONSUMER,
    FASTSTREAM_AIOKAFKA,
    FASTSTREAM_CONFLUENT,
    FAUST,
    KAFKA_PYTHON,
    KERNEL,
    OBJECTS,
    QUIXSTREAMS,
    WITHOUT,
    Bench,
    Row,
)
from benchmarks.brokers import BARE, BARNABAS, OTHER, Contender
from benchmarks.rabbitmq_process import RABBITMQ
from benchmarks.registry import OTHER_REGISTRY
from benchmarks.report import print_table, write_json
from tests.support.broker import BrokerProcess

MEASUREMENTS = (
    "throughput",
    "single_records",
    "latency",
    "startup",
    "partitions",
    "connections",
    "compaction",
)
OF_IMPORTS = ("imports",)
OF_TRANSACTIONS = ("transactions", "read_committed")
OF_CLUSTERS = (
    "failover",
    "replication",
    "offset_commits",
    "catch_up",
    "controller",
    "idle_cluster",
    "backup",
    "elastic",
)
OF_GROUPS = ("rebalances",)
OF_QUEUES = ("queues",)
OF_SECURITY = ("security",)
OF_MONITORING = ("metrics", "scrape")
OF_LIMITS = ("turns",)
OF_REGISTRIES = ("registry",)
OF_CLIENTS = ("clients",)
OF_APPLICATIONS = ("app",)
FRAMEWORKS = [BARNABAS, FASTSTREAM_CONFLUENT, FASTSTREAM_AIOKAFKA, QUIXSTREAMS, FAUST]
OF_RECORDS = ("columns", "record_check", "avro")
OF_SIMULATOR = ("simulator",)
OF_PIPELINES = ("nexmark", "ad_events")
OF_SPARK = ("spark_reads", "spark_writes", "decoding", "changes", "mirror")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    everything = (
        *MEASUREMENTS,
        *OF_IMPORTS,
        *OF_TRANSACTIONS,
        *OF_CLUSTERS,
        *OF_GROUPS,
        *OF_QUEUES,
        *OF_SECURITY,
        *OF_MONITORING,
        *OF_LIMITS,
        *OF_REGISTRIES,
        *OF_CLIENTS,
        *OF_APPLICATIONS,
        *OF_RECORDS,
        *OF_SIMULATOR,
        *OF_SPARK,
        *OF_PIPELINES,
    )
    parser.add_argument("measurements", nargs="*", metavar="MEASUREMENT", default=everything)
    parser.add_argument("--quick", action="store_true", help="less of everything, one round")
    parser.add_argument("--partitions", type=int, default=100, help="of elastic")
    parser.add_argument("--megabytes", type=int, default=200, help="of elastic")
    parser.add_argument(
        "--patience",
        type=float,
        default=1_800,
        metavar="SECONDS",
        help="how long a step of elastic may last",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers here too")
    parser.add_argument("--against", metavar="HOST:PORT", help="measure this broker too")
    parser.add_argument("--against-pid", type=int, metavar="PID", help="its process")
    arguments = parser.parse_args()
    unknown = set(arguments.measurements) - set(everything)
    if unknown:
        parser.error(f"no such measurement: {', '.join(sorted(unknown))}")
    if (arguments.against is None) != (arguments.against_pid is None):
        parser.error("--against and --against-pid go together")

    contenders = [Contender(BARNABAS), Contender(BARE)]
    if arguments.against is not None:
        host, _, port = arguments.against.rpartition(":")
        contenders.append(Contender(OTHER, (host, int(port), arguments.against_pid)))
    console = Console()
    if not console.is_terminal:
        console.width = 130
        if isinstance(sys.stdout, io.TextIOWrapper):  # a log shows each result as it comes
            sys.stdout.reconfigure(line_buffering=True)
    bench = Bench(
        contenders,
        arguments.quick,
        console,
        arguments.partitions,
        arguments.megabytes,
        arguments.patience,
    )
    BrokerProcess.real = True  # nodes are measured as users start them
    began = time.monotonic()
    rows: dict[str, list[Row]] = {}
    for name in arguments.measurements:
        console.print(f"[bold]{name}[/], {time.monotonic() - began:.0f} s so far")
        if name in OF_SPARK + OF_PIPELINES and find_spec("pyspark") is None:
            console.print("PySpark is not here, so this is left out: pip install 'barnabas[spark]'")
            continue
        rows[name] = import_module(f"benchmarks.{name}").measure(bench)
    names = [contender.name for contender in contenders]
    own_and_baseline = [BARNABAS, BASELINE, *(name for name in names if name == OTHER)]
    for columns, kinds in (
        (names, MEASUREMENTS),
        ([BARNABAS, BASELINE], OF_IMPORTS),
        (own_and_baseline, OF_TRANSACTIONS),
        ([CONSUMER, CLASSIC], OF_GROUPS),
        ([BARNABAS, BASELINE, RABBITMQ], OF_QUEUES),
        ([BARNABAS, BASELINE], OF_SECURITY),
        ([BARNABAS, BASELINE], OF_MONITORING),
        ([BARNABAS], OF_LIMITS),
        ([BARNABAS, OTHER_REGISTRY], OF_REGISTRIES),
        ([CLUSTER, BASELINE], OF_CLUSTERS),
        ([BARNABAS, ASYNCIO, CONFLUENT, AIOKAFKA, KAFKA_PYTHON], OF_CLIENTS),
        (FRAMEWORKS, OF_APPLICATIONS),
        ([KERNEL, WITHOUT, OBJECTS], OF_RECORDS),
        ([BARNABAS], OF_SIMULATOR),
        ([BARNABAS, BASELINE], OF_SPARK),
        ([BARNABAS, CONNECTOR, BASELINE], OF_PIPELINES),
    ):
        found = {name: found for name, found in rows.items() if name in kinds}
        if found:
            print_table(console, columns, found, time.monotonic() - began)
    if arguments.json is not None:
        write_json(arguments.json, rows)


if __name__ == "__main__":
    main()
