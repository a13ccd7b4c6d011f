"""Retries with increasing delays: a failed job is retried, and finally becomes a dead letter.

    barnabas server &
    python examples/retries.py [BOOTSTRAP]

The bank answers the third attempt of each payment, and never the one to nobody.
"""

import argparse

from barnabas import Consumer, Queue, QueueMessage

PAUSES_S = (0.1, 0.4, 1.6)


def pay(job: QueueMessage) -> None:
    if job.value["to"] == "nobody":
        raise LookupError("there is no such account")
    if job.delivery_count < 3:
        raise ConnectionError("the bank does not answer")
    print(f"paid {job.value['to']} in attempt {job.delivery_count}")


def main(bootstrap: str) -> None:
    with Queue(
        bootstrap,
        "payments",
        group="payers",
        value_format="json",
        retry_delay_s=PAUSES_S,
        dead_letters="payments-dead",
        max_deliveries=4,
    ) as queue:
        for name in ("ada", "nobody", "eve"):
            queue.put({"to": name})
        left = {"ada", "nobody", "eve"}

        def handle(job: QueueMessage) -> None:
            try:
                pay(job)
            except Exception as error:
                if job.delivery_count < 4:
                    raise
                job.reject(str(error))  # the same as raising: this was the last attempt
            left.discard(job.value["to"])
            if not left:
                queue.stop()

        queue.run(handle, concurrency=2)
    with Consumer(bootstrap, "payments-dead", value_format="json") as letters:
        for letter in letters:
            headers = {name: (value or b"").decode() for name, value in letter.headers}
            tried, why = headers["dead-letter.deliveries"], headers["dead-letter.reason"]
            print(f"gave up {letter.value['to']} after {tried} attempts: {why}")
            break


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
