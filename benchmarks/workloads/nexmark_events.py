"""Events of Nexmark: of 50 events, 1 is a new person, 3 are new auctions and 46 are bids.

The proportions, hot keys and fields are those of https://github.com/nexmark/nexmark. A thousand
events happen in a second of event time, in order. The last three are far ahead: they move the
watermark, so that a stream writes everything that happened before them.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

SCHEMA = """
    event_type INT,
    person STRUCT<id: BIGINT, name: STRING, emailAddress: STRING, creditCard: STRING, city: STRING,
        state: STRING, dateTime: TIMESTAMP, extra: STRING>,
    auction STRUCT<id: BIGINT, itemName: STRING, description: STRING, initialBid: BIGINT,
        reserve: BIGINT, dateTime: TIMESTAMP, expires: TIMESTAMP, seller: BIGINT, category: BIGINT,
        extra: STRING>,
    bid STRUCT<auction: BIGINT, bidder: BIGINT, price: BIGINT, channel: STRING, url: STRING,
        dateTime: TIMESTAMP, extra: STRING>,
    dateTime TIMESTAMP
"""
PERSON, AUCTION, BID = range(3)
CLOSING = "2099-06-15T00:00:00.000Z"
"""The time of the last events. No other has it."""
CLOSING_ID = 1
LONGEST_AUCTION_S = 5

_ROUND, _PERSONS, _AUCTIONS = 50, 1, 3
_FIRST_ID = 1000
_FIRST_CATEGORY, _CATEGORIES = 10, 5
_ACTIVE_PEOPLE, _OPEN_AUCTIONS = 1000, 100
_HOT = 100
"""Of a hundred ids, one is hot."""
_START_MS = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
_CHUNK = 25_000
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Seattle")
_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter")
_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_FILLING = "eblfkyvmxhtqzwcnrpsgdjoaui" * 3


def event_tables(count: int, partitions: int, seed: int = 1) -> Iterator[pa.Table]:
    """Values of records, and their partitions, in the order of their time."""
    random = np.random.default_rng(seed)
    for start in range(0, count, _CHUNK):
        numbers = range(start, min(start + _CHUNK, count))
        values = _values(numbers, random)
        yield _table(values, [each % partitions for each in numbers])
    yield _table(list(_closing()), [0] * 3)


def _table(values: list[str], partitions: list[int]) -> pa.Table:
    return pa.table({"value": values, "partition": pa.array(partitions, pa.int32())})


def _values(numbers: range, random: np.random.Generator) -> list[str]:
    size = len(numbers)
    drawn = random.random((5, size)).tolist()
    prices = (10 ** (random.random(size) * 6) * 100).astype(int).tolist()
    return [
        _value(number, price, draws)
        for number, price, draws in zip(numbers, prices, zip(*drawn, strict=True), strict=True)
    ]


def _value(number: int, price: int, draws: tuple[float, ...]) -> str:
    past, place = divmod(number, _ROUND)
    last_person = _FIRST_ID + past
    at = _time(_START_MS + number)
    if place < _PERSONS:
        return person(last_person, _pick(_CITIES, draws[0]), _pick(_STATES, draws[1]), at)
    last_auction = _FIRST_ID + past * _AUCTIONS + min(place - _PERSONS, _AUCTIONS - 1)
    if place < _PERSONS + _AUCTIONS:
        seller = _recent(last_person, _ACTIVE_PEOPLE, draws, hot_of=4)
        expires = _time(_START_MS + number + 1 + int(draws[2] * _auction_ms() * 2))
        category = _FIRST_CATEGORY + int(draws[3] * _CATEGORIES)
        return auction(last_auction, price, seller, category, at, expires)
    bought = _recent(last_auction, _OPEN_AUCTIONS, draws, hot_of=2)
    bidder = _recent(last_person, _ACTIVE_PEOPLE, draws[2:], hot_of=4) + 1
    return bid(bought, bidder, price, _pick(_CHANNELS, draws[4]), at)


def _auction_ms() -> int:
    """How long it takes until as many further auctions are there as are open at once."""
    return _OPEN_AUCTIONS * _ROUND // _AUCTIONS


def _recent(last: int, among: int, draws: tuple[float, ...], *, hot_of: int) -> int:
    """One of the last ids; in all but one of `hot_of` draws, the hot one."""
    if draws[0] * hot_of >= 1:
        return last // _HOT * _HOT
    return last - int(draws[1] * min(among, last - _FIRST_ID + 1))


def _pick(among: tuple[str, ...], draw: float) -> str:
    return among[int(draw * len(among))]


def _time(at_ms: int) -> str:
    minutes, ms = divmod(at_ms - _START_MS, 60_000)
    hours, minute = divmod(minutes, 60)
    return f"2026-01-{1 + hours // 24:02}T{hours % 24:02}:{minute:02}:{ms / 1000:06.3f}Z"


def _closing() -> Iterator[str]:
    """One event of each kind, none of which belongs to any other event."""
    yield person(CLOSING_ID, "Nowhere", "NO", CLOSING)
    yield auction(CLOSING_ID, 1, CLOSING_ID + 1, CLOSING_ID, CLOSING, CLOSING)
    yield bid(CLOSING_ID + 1, CLOSING_ID, 1, "None", CLOSING)


def person(number: int, city: str, state: str, at: str) -> str:
    name = _NAMES[number % len(_NAMES)]
    return (
        f'{{"event_type":0,"person":{{"id":{number},"name":"{name} {number}","emailAddress":'
        f'"{name}@{number}.com","creditCard":"{number:016}","city":"{city}","state":"{state}",'
        f'"dateTime":"{at}","extra":"{_FILLING[:60]}"}},"auction":null,"bid":null,'
        f'"dateTime":"{at}"}}'
    )


def auction(number: int, first: int, seller: int, category: int, at: str, expires: str) -> str:
    return (
        f'{{"event_type":1,"person":null,"auction":{{"id":{number},"itemName":"item {number}",'
        f'"description":"{_FILLING[:40]}","initialBid":{first},"reserve":{first + 100},'
        f'"dateTime":"{at}","expires":"{expires}","seller":{seller},"category":{category},'
        f'"extra":"{_FILLING}"}},"bid":null,"dateTime":"{at}"}}'
    )


def bid(auctioned: int, bidder: int, price: int, channel: str, at: str) -> str:
    return (
        f'{{"event_type":2,"person":null,"auction":null,"bid":{{"auction":{auctioned},"bidder":'
        f'{bidder},"price":{price},"channel":"{channel}","url":"https://www.nexmark.com/item.htm'
        f'?query={auctioned}","dateTime":"{at}","extra":"{_FILLING[:8]}"}},"dateTime":"{at}"}}'
    )
