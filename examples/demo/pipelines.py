"""What is done with a website's activity, as it comes. This is all there is to write; run it with

    barnabas pipeline run examples/demo/pipelines.py

on a cluster that has the topic `activity`, with values as

    {"id": "e17", "kind": "view", "at": "2026-01-01T12:00:03Z", "page": "/wine"}
    {"id": "e18", "kind": "click", "at": "2026-01-01T12:00:41Z", "page": "/wine", "view": "e17"}
    {"id": "e19", "kind": "search", "at": "2026-01-01T12:00:50Z", "page": "/", "query": "figs"}

and a PostgreSQL, which the variable DATABASE names, with a table of orders.

`at` is when it happened. Events may come ten minutes later than others that happened after them,
since phones are not always online; whatever comes later still is left out. Tables are in the
folder `tables` next to this file, or in the one that the variable TABLES names.
"""

import os

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from barnabas.spark.pipelines import (
    from_postgres_changes,
    from_topic,
    pipeline,
    to_parquet,
    to_topic,
)

ACTIVITY = """
    id STRING NOT NULL, kind STRING NOT NULL, at TIMESTAMP NOT NULL, page STRING NOT NULL,
    view STRING, query STRING
"""
ORDERS = "id LONG, view STRING, amount DECIMAL(10, 2), at TIMESTAMP"
LATENESS = "at 10 minutes"
TABLES = os.environ.get("TABLES", "tables")
DATABASE = os.environ.get("DATABASE", "postgresql://localhost/shop")


@pipeline(
    sources={
        "activity": from_topic(
            "activity", ACTIVITY, watermark=LATENESS, dead_letters="bad-activity"
        )
    },
    sink=to_topic("views-per-minute", key="page", exactly_once=True),
    trigger="500 milliseconds",
)
def views_per_minute(activity: DataFrame) -> DataFrame:
    """Each page and minute once, as soon as nothing can come any more that belongs to it."""
    views = activity.where("kind = 'view'")
    counted = views.groupBy("page", F.window("at", "1 minute")).count()
    return counted.selectExpr("page", "window.start AS minute", "count AS views")


@pipeline(
    sources={
        "views": from_topic("activity", ACTIVITY, watermark=LATENESS, skip_undecodable=True),
        "clicks": from_topic("activity", ACTIVITY, watermark=LATENESS, skip_undecodable=True),
    },
    sink=to_topic("clicked-views", key="page", exactly_once=True),
    trigger="500 milliseconds",
)
def clicked_views(views: DataFrame, clicks: DataFrame) -> DataFrame:
    """Every click with the view that led to it, whichever of them comes first."""
    viewed = views.where("kind = 'view'").selectExpr("id AS view", "page", "at AS viewed")
    clicked = clicks.where("kind = 'click'").selectExpr("id AS click", "view", "at AS clicked")
    soon = "clicked BETWEEN viewed AND viewed + INTERVAL 5 MINUTES"
    return viewed.join(clicked, "view").where(soon)


@pipeline(
    sources={
        "counts": from_topic(
            "views-per-minute", "page STRING, minute TIMESTAMP, views LONG", record=()
        )
    },
    sink=to_parquet(f"{TABLES}/views_per_minute"),
    trigger="2 seconds",
)
def views_table(counts: DataFrame) -> DataFrame:
    """The counts as a table, for later queries."""
    return counts


@pipeline(
    sources={
        "pairs": from_topic(
            "clicked-views",
            "view STRING, page STRING, viewed TIMESTAMP, click STRING, clicked TIMESTAMP",
            record=(),
        )
    },
    sink=to_parquet(f"{TABLES}/clicked_views"),
    trigger="2 seconds",
)
def clicks_table(pairs: DataFrame) -> DataFrame:
    """The same with clicks; and how long it took to make up one's mind."""
    waited = F.col("clicked").cast("double") - F.col("viewed").cast("double")
    return pairs.withColumn("seconds", waited)


@pipeline(
    sources={"activity": from_topic("activity", ACTIVITY, skip_undecodable=True)},
    sink=to_parquet(f"{TABLES}/searches", partition_by="hour"),
    trigger="2 seconds",
)
def searches_table(activity: DataFrame) -> DataFrame:
    """What people look for, in a folder for each hour."""
    searches = activity.where("kind = 'search'").select("id", "at", "page", "query")
    return searches.withColumn("hour", F.date_format("at", "yyyy-MM-dd-HH"))


@pipeline(
    sources={"orders": from_postgres_changes(DATABASE, "orders", ORDERS)},
    sink=to_topic("orders", key="id", exactly_once=True),
    trigger="500 milliseconds",
)
def order_changes(orders: DataFrame) -> DataFrame:
    """Every change of the orders in the database: first those that were there, then as it comes."""
    return orders.select("change.op", "id", "view", "amount", "at")


@pipeline(
    sources={
        "views": from_topic("activity", ACTIVITY, watermark=LATENESS, skip_undecodable=True),
        "orders": from_topic("orders", f"op STRING, {ORDERS}", watermark=LATENESS, record=()),
    },
    sink=to_parquet(f"{TABLES}/ordered_views"),
    trigger="2 seconds",
)
def ordered_views(views: DataFrame, orders: DataFrame) -> DataFrame:
    """Every order with the view that led to it."""
    viewed = views.where("kind = 'view'").selectExpr("id AS view", "page", "at AS viewed")
    placed = orders.where("op IN ('r', 'c')").selectExpr("id", "view", "amount", "at AS ordered")
    soon = "ordered BETWEEN viewed AND viewed + INTERVAL 5 MINUTES"
    return viewed.join(placed, "view").where(soon)
