"""Unique jobs: a job that was asked for twice is done once.

    barnabas server &
    python examples/unique_jobs.py [BOOTSTRAP]

Requests have the id of their job as key. A gatekeeper reads them, and sends on those whose id it
has not seen; the ids are in a compacted topic. Request, id and job are one transaction.
"""

import argparse

from barnabas import Admin, Consumer, Producer, Queue, Table

REQUESTS = ["a", "b", "a", "c", "b", "a"]


def admit(bootstrap: str, requests: int, name: str = "gatekeeper-1") -> int:
    """Let each id pass once, and count them.

    There may be several gatekeepers, each with a name: an id is always with the same.
    """
    with (
        Consumer(
            bootstrap, "requests", group="gatekeeper", commit="manual", key_format="str"
        ) as consumer,
        Producer(bootstrap, transactional_id=name, key_format="str") as producer,
        Table(bootstrap, "seen", key_format="str") as seen,
    ):
        read = jobs = 0
        while read < requests:
            messages = consumer.poll(timeout_s=1)
            # What was admitted before a crash or a rebalance, also by a commit that is under way.
            seen.wait_until_current(open_transactions=True)
            admitted: set[str] = set()
            with producer.transaction(consumer):
                for message in messages:
                    if message.key not in seen and message.key not in admitted:
                        admitted.add(message.key)
                        producer.send("seen", b"1", message.key)
                        producer.send("jobs", message.value, message.key)
            read += len(messages)
            jobs += len(admitted)
    return jobs


def main(bootstrap: str) -> None:
    with Admin(bootstrap) as admin:
        for topic in ("requests", "jobs"):
            admin.create_topic(topic, partitions=2, exist_ok=True)
        admin.create_topic("seen", configs={"cleanup.policy": "compact"}, exist_ok=True)
    with Producer(bootstrap, key_format="str", value_format="str") as producer:
        for name in REQUESTS:
            producer.send("requests", f"job {name}", name)
    admitted = admit(bootstrap, len(REQUESTS))
    done = []
    with Queue(bootstrap, "jobs", group="workers", value_format="str") as jobs:
        while (job := jobs.get(timeout_s=1)) or len(done) < admitted:
            if job is not None:
                done.append(job.value)
                job.accept()
    print(f"{len(REQUESTS)} requests, {len(done)} jobs: {', '.join(sorted(done))}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
