"""The queries of Nexmark, as Spark's streams express them.

Results that Nexmark updates again and again are written once here, when the watermark shows that
they are complete; Q4 for that has an average per ten seconds. Q5 and Q7 name one of several that
are equal. Q6, the average of a seller's last ten sales, needs `transformWithState` and is left out;
Q10 writes files. Q12 counts by the time of day, so its rows are summed up to compare them.
"""

from collections import defaultdict

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from benchmarks.workloads.nexmark_events import (
    AUCTION,
    BID,
    CLOSING,
    CLOSING_ID,
    LONGEST_AUCTION_S,
    PERSON,
    SCHEMA,
    event_tables,
)
from benchmarks.workloads.workload import Query, Row, Workload

_OF_AUCTION = f"""
    auction = id AND dateTime BETWEEN opened AND expires
        AND dateTime <= opened + INTERVAL {LONGEST_AUCTION_S} SECONDS
"""
"""Without the last line Spark does not see how long an auction has to be kept."""


def _bids(events: DataFrame) -> DataFrame:
    return events.where(F.col("event_type") == BID).select(
        "bid.auction", "bid.bidder", "bid.price", "dateTime", "bid.extra"
    )


def _auctions(events: DataFrame) -> DataFrame:
    return events.where(F.col("event_type") == AUCTION).select(
        "auction.id",
        "auction.itemName",
        "auction.expires",
        "auction.seller",
        "auction.category",
        F.col("dateTime").alias("opened"),
    )


def _persons(events: DataFrame) -> DataFrame:
    return events.where(F.col("event_type") == PERSON).select(
        F.col("person.id").alias("person"),
        "person.name",
        "person.city",
        "person.state",
        F.col("dateTime").alias("registered"),
    )


def pass_through(events: DataFrame) -> DataFrame:
    return _bids(events)


def currency(events: DataFrame) -> DataFrame:
    return _bids(events).withColumn("price", (F.col("price") * 0.908).cast("decimal(23,3)"))


def selection(events: DataFrame) -> DataFrame:
    return _bids(events).where("auction % 123 = 0").select("auction", "price")


def local_items(events: DataFrame) -> DataFrame:
    sold = _auctions(events).where("category = 10").select("id", "seller")
    local = _persons(events).where("state IN ('OR', 'ID', 'CA')")
    return sold.join(local, F.expr("seller = person")).select("name", "city", "state", "id")


def average_price(events: DataFrame) -> DataFrame:
    sold = _auctions(events).join(_bids(events), F.expr(_OF_AUCTION))
    prices = sold.groupBy("id", "category", "opened").agg(F.max("price").alias("price"))
    averages = prices.groupBy("category", F.window("opened", "10 seconds")).agg(F.avg("price"))
    return averages.toDF("category", "window", "price").select(
        "category", F.col("window.start").alias("since"), F.round("price", 3).alias("price")
    )


def hot_items(events: DataFrame) -> DataFrame:
    window = F.window("dateTime", "10 seconds", "2 seconds")
    counts = _bids(events).groupBy(window, "auction").count()
    most = counts.groupBy("window").agg(F.max(F.struct("count", "auction")).alias("most"))
    return most.select(F.col("window.start").alias("since"), "most.auction", "most.count")


def highest_bid(events: DataFrame) -> DataFrame:
    highest = F.max(F.struct("price", "auction", "bidder")).alias("highest")
    found = _bids(events).groupBy(F.window("dateTime", "10 seconds")).agg(highest)
    return found.select(F.col("window.start").alias("since"), "highest.*")


def new_sellers(events: DataFrame) -> DataFrame:
    registered = _persons(events).withColumn("window", F.window("registered", "10 seconds"))
    opened = _auctions(events).withColumn("sold_in", F.window("opened", "10 seconds"))
    pairs = registered.join(opened, F.expr("person = seller AND window = sold_in"))
    return pairs.select("person", "name", F.col("window.start").alias("since"), "id")


def winning_bids(events: DataFrame) -> DataFrame:
    sold = _auctions(events).join(_bids(events), F.expr(_OF_AUCTION))
    first_of_highest = F.struct("price", (-F.unix_micros("dateTime")).alias("earlier"), "bidder")
    won = sold.groupBy("id", "itemName", "seller", "category", "opened").agg(
        F.max(first_of_highest).alias("won")
    )
    return won.select("id", "itemName", "seller", "category", "opened", "won.price", "won.bidder")


def sessions(events: DataFrame) -> DataFrame:
    session = F.session_window("dateTime", "10 seconds").alias("session")
    counted = _bids(events).groupBy("bidder", session).agg(F.count("*").alias("bids"))
    return counted.select("bidder", "bids", "session.start", "session.end")


def time_of_day(events: DataFrame) -> DataFrame:
    now = F.window(F.current_timestamp(), "10 seconds").alias("window")
    counted = _bids(events).groupBy("bidder", now).agg(F.count("*").alias("bids"))
    return counted.select("bidder", "bids", F.col("window.start").alias("since"))


def _bids_of_all_windows(rows: list[Row]) -> list[Row]:
    """The last count of each window, summed up per bidder."""
    last: dict[tuple[object, object], int] = defaultdict(int)
    for row in rows:
        window = (row["bidder"], row["since"])
        last[window] = max(last[window], int(str(row["bids"])))
    bids: dict[object, int] = defaultdict(int)
    for (bidder, _), count in last.items():
        bids[bidder] += count
    bids.pop(CLOSING_ID, None)
    return [{"bidder": bidder, "bids": count} for bidder, count in bids.items()]


NEXMARK = Workload(
    "nexmark",
    SCHEMA,
    ("dateTime", "4 seconds"),
    event_tables,
    (
        Query("q0", "pass through", pass_through, cpu_ratio=0.6),
        Query("q1", "currency", currency, cpu_ratio=0.6),
        Query("q2", "selection", selection, cpu_ratio=0.6),
        Query("q3", "local items", local_items),
        Query("q4", "average price", average_price),
        Query("q5", "hot items", hot_items),
        Query("q7", "highest bid", highest_bid),
        Query("q8", "new sellers", new_sellers),
        Query("q9", "winning bids", winning_bids),
        Query("q11", "sessions", sessions),
        Query("q12", "time of day", time_of_day, "update", final=_bids_of_all_windows),
    ),
    closing=CLOSING[:8],
)
