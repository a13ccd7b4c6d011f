"""Events of advertisements, after the Yahoo Streaming Benchmark, made wide and skewed.

The original (https://github.com/yahoo/streaming-benchmarks) has events of seven fields, of which a
third are views, looks up the campaign of each advertisement in Redis and counts the views of each
campaign in windows of ten seconds. Here an event has 120 columns, of which the queries use four;
advertisements are not equally popular; and the table of campaigns is a compacted topic. Spark
decodes only the columns that are used, as long as nothing needs the others.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from benchmarks.workloads.workload import Query, Table, Workload

_OTHERS = 114
_NAMES = [f"field_{number:03}" for number in range(_OTHERS)]
_TYPES = ("BIGINT", "STRING", "DOUBLE", "BOOLEAN")
SCHEMA = ", ".join(
    [
        "user_id STRING, page_id STRING, ad_id STRING, ad_type STRING, event_type STRING",
        *(f"{name} {_TYPES[number % 4]}" for number, name in enumerate(_NAMES)),
        "event_time TIMESTAMP",
    ]
)
_CAMPAIGNS, _ADS_OF_CAMPAIGN = 100, 10
_ADS = _CAMPAIGNS * _ADS_OF_CAMPAIGN
_SKEW = 1.3
"""The exponent of the distribution: the most popular advertisement has a quarter of all views."""
_KINDS = ("view", "click", "purchase")
_CLOSING = "2099-06-15T00:00:00.000Z"
_CHUNK = 10_000
_FILLINGS = 50


def event_tables(count: int, partitions: int, seed: int = 1) -> Iterator[pa.Table]:
    """Values of records, and their partitions, in the order of their time: 500 in a second."""
    random = np.random.default_rng(seed)
    fillings = [_filling(random) for _ in range(_FILLINGS)]
    for start in range(0, count, _CHUNK):
        numbers = range(start, min(start + _CHUNK, count))
        ads = (random.zipf(_SKEW, len(numbers)) % _ADS).tolist()
        kinds = random.integers(0, len(_KINDS), len(numbers)).tolist()
        values = [
            _value(number, ad, _KINDS[kind], _time(number * 2), fillings[number % _FILLINGS])
            for number, ad, kind in zip(numbers, ads, kinds, strict=True)
        ]
        yield _table(values, [each % partitions for each in numbers])
    yield _table([_value(0, 0, _KINDS[0], _CLOSING, fillings[0])], [0])


def campaigns() -> pa.Table:
    """Which campaign each advertisement belongs to, by its id."""
    return pa.table(
        {
            "key": [f"ad-{ad}" for ad in range(_ADS)],
            "value": [f'{{"campaign":"campaign-{ad // _ADS_OF_CAMPAIGN}"}}' for ad in range(_ADS)],
        }
    )


def _table(values: list[str], partitions: list[int]) -> pa.Table:
    return pa.table({"value": values, "partition": pa.array(partitions, pa.int32())})


def _filling(random: np.random.Generator) -> str:
    """The members that no query uses."""
    parts = []
    for number, name in enumerate(_NAMES):
        drawn = random.integers(0, 1_000_000)
        literal = (f"{drawn}", f'"text {drawn}"', f"{drawn / 7:.3f}", ("true", "false")[drawn % 2])
        parts.append(f'"{name}":{literal[number % 4]}')
    return ",".join(parts)


def _value(number: int, ad: int, kind: str, at: str, filling: str) -> str:
    return (
        f'{{"user_id":"user-{number % 10_007}","page_id":"page-{number % 101}","ad_id":"ad-{ad}",'
        f'"ad_type":"banner","event_type":"{kind}",{filling},"event_time":"{at}"}}'
    )


def _time(ms: int) -> str:
    minutes, rest = divmod(ms, 60_000)
    hours, minute = divmod(minutes, 60)
    return f"2026-01-{1 + hours // 24:02}T{hours % 24:02}:{minute:02}:{rest / 1000:06.3f}Z"


def views_of_campaigns(events: DataFrame, campaigns: DataFrame) -> DataFrame:
    views = events.where("event_type = 'view'").select("ad_id", "event_time")
    counted = (
        views.join(campaigns, "ad_id")
        .groupBy("campaign", F.window("event_time", "10 seconds"))
        .agg(F.count("*").alias("views"), F.max("event_time").alias("last"))
    )
    return counted.select("campaign", F.col("window.start").alias("since"), "views", "last")


def paths_of_users(events: DataFrame) -> DataFrame:
    """State for every user, of whom there are ten thousand, and every minute."""
    minute = F.window("event_time", "1 minute")
    counted = events.groupBy("user_id", minute).agg(
        F.count("*").alias("events"), F.max("ad_id").alias("last_ad")
    )
    return counted.select("user_id", F.col("window.start").alias("since"), "events", "last_ad")


def purchases(events: DataFrame) -> DataFrame:
    return events.where("event_type = 'purchase'").select("user_id", "ad_id", "event_time")


ADS = Workload(
    "ad_events",
    SCHEMA,
    ("event_time", "10 seconds"),
    event_tables,
    (
        Query("purchases", "three of 120 columns", purchases),
        Query("campaigns", "join with a table", views_of_campaigns, inputs=("events", "campaigns")),
        Query("users", "much state", paths_of_users),
    ),
    closing=_CLOSING[:8],
    joined={"campaigns": Table("campaign STRING", "ad_id", campaigns)},
)
