"""Activity tracking: what people do on a website, as topics, for a live view and for a report.

    barnabas server &
    python examples/activity_tracking.py [BOOTSTRAP]

Page views, searches and clicks are topics of their own, with the visitor as the key. The website
only sends. What is made of it is decided by those who read: here a live view, event by event, and
a report that reads everything at once, as Arrow columns (`pip install 'barnabas[arrow]'`).
"""

import argparse
import random
from collections import Counter

from barnabas import Admin, Consumer, Producer

TOPICS = ("page-views", "searches", "clicks")
VISITORS = 200


def website(bootstrap: str) -> int:
    """People come, look, search and click. How many events that were."""
    dice = random.Random(17)  # the same people each time
    events = 0
    with Producer(bootstrap, compression="lz4", key_format="str", value_format="json") as producer:
        for number in range(VISITORS):
            visitor = f"visitor-{number}"
            visit = [("page-views", {"page": "/"})]
            for word in dice.sample(["olives", "bread", "wine"], dice.randint(0, 2)):
                visit.append(("searches", {"word": word}))
                visit.append(("page-views", {"page": f"/search?q={word}"}))
                if dice.random() < 0.4:
                    visit.append(("clicks", {"item": word}))
            for topic, event in visit:
                producer.send(topic, event, key=visitor)
            events += len(visit)
    return events


def live_view(bootstrap: str, events: int) -> None:
    """Which words make people click."""
    searched: Counter[str] = Counter()
    clicked: Counter[str] = Counter()
    with Consumer(bootstrap, TOPICS, group="live-view", value_format="json") as consumer:
        for message in consumer:
            if message.topic == "searches":
                searched[message.value["word"]] += 1
            elif message.topic == "clicks":
                clicked[message.value["item"]] += 1
            events -= 1
            if events == 0:
                break
    for word, count in searched.most_common():
        print(f"{word}: {count} searches, {100 * clicked[word] / count:.0f} % clicked")


def report(bootstrap: str, events: int) -> None:
    """How busy the site was, without a Python object for each event."""
    import pyarrow as pa

    tables: list[pa.Table] = []
    with Consumer(bootstrap, TOPICS) as consumer:
        while sum(table.num_rows for table in tables) < events:
            tables.append(consumer.poll_table(columns=["topic", "key"]))
    everything = pa.concat_tables(tables)
    busy = everything.group_by("topic").aggregate([("key", "count"), ("key", "count_distinct")])
    for row in busy.sort_by([("key_count", "descending")]).to_pylist():
        visitors = row["key_count_distinct"]
        print(f"{row['topic']}: {row['key_count']} events of {visitors} visitors")


def main(bootstrap: str) -> None:
    with Admin(bootstrap) as admin:
        for topic in TOPICS:
            admin.create_topic(topic, partitions=3)
    events = website(bootstrap)
    live_view(bootstrap, events)
    report(bootstrap, events)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
