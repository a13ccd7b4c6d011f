"""Routing by header: one topic comes in, and each record goes to the queues whose rule it fits.

    barnabas server &
    python examples/routing.py [BOOTSTRAP]

The router reads as a consumer group and sends on in a transaction, so that a record is in all of
its queues, once, or in none. A new queue is a new rule.
"""

import argparse
from collections import Counter
from collections.abc import Callable

from barnabas import Admin, Consumer, Producer, Queue

Headers = dict[str, bytes | None]
RULES: dict[str, Callable[[Headers], bool]] = {
    "images": lambda headers: headers.get("type") == b"image",
    "large": lambda headers: int(headers.get("size") or 0) > 1_000,
    "audit": lambda _: True,
}
FILES = [("cat.jpg", "image", 200), ("film.mp4", "video", 9_000), ("map.png", "image", 4_000)]


def route(bootstrap: str, records: int) -> Counter[str]:
    """Send so many to their queues, and count what each has got."""
    sent: Counter[str] = Counter()
    with (
        Consumer(bootstrap, "files", group="router", commit="manual") as consumer,
        Producer(bootstrap, transactional_id="router-1") as producer,
    ):
        routed = 0
        while routed < records:
            messages = consumer.poll(timeout_s=1)
            with producer.transaction(consumer):
                for message in messages:
                    headers = dict(message.headers)
                    for queue, fits in RULES.items():
                        if fits(headers):
                            producer.send(
                                queue, message.value, message.key, headers=message.headers
                            )
                            sent[queue] += 1
            routed += len(messages)
    return sent


def main(bootstrap: str) -> None:
    with Admin(bootstrap) as admin:
        for topic in ("files", *RULES):
            admin.create_topic(topic, exist_ok=True)
    with Producer(bootstrap, value_format="str") as producer:
        for name, kind, size in FILES:
            headers = [("type", kind.encode()), ("size", str(size).encode())]
            producer.send("files", name, headers=headers)
    sent = route(bootstrap, len(FILES))
    for name in RULES:
        with Queue(bootstrap, name, group=f"{name}-workers", value_format="str") as queue:
            found = []
            while (job := queue.get(timeout_s=1)) or len(found) < sent[name]:
                if job is not None:
                    found.append(job.value)
                    job.accept()
        print(f"{name}: {', '.join(sorted(found))}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
