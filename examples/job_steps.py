"""Jobs of several steps, and groups of jobs: one result for each, whichever worker dies.

    barnabas server &
    python examples/job_steps.py [BOOTSTRAP]

An album has pictures. Each picture is loaded by one queue of workers, and scaled by another.
"""

import argparse
from functools import partial
from threading import Thread

from barnabas import Admin, Queue, QueueMessage

ALBUM = ["cat.jpg", "dog.jpg", "cow.jpg"]


def load(job: QueueMessage, scalers: Queue) -> None:
    picture = {"name": job.value, "bytes": 100 * len(job.value)}
    scalers.put(picture, continues=job)


def scale(job: QueueMessage) -> str:
    return f"{job.value['name']}: {job.value['bytes'] // 10} bytes"


def main(bootstrap: str) -> None:
    with Admin(bootstrap) as admin:
        for topic in ("load", "scale"):
            admin.create_topic(topic, partitions=2, exist_ok=True)
    with (
        Queue(bootstrap, "load", group="loaders", value_format="str") as loaders,
        Queue(
            bootstrap, "scale", group="scalers", value_format="json", results_of="load"
        ) as scalers,
        Queue(bootstrap, "load", group="loaders", value_format="str") as albums,
    ):
        workers = [
            Thread(target=loaders.run, args=[partial(load, scalers=scalers)]),
            Thread(target=scalers.run, args=[scale]),
        ]
        for worker in workers:
            worker.start()

        pictures = [albums.submit(name) for name in ALBUM]
        print(*[each.result(timeout_s=60) for each in pictures], sep="\n")

        loaders.stop()
        scalers.stop()
        for worker in workers:
            worker.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
