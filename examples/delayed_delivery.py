"""Delayed and scheduled delivery: jobs that workers get after a while, or at a certain time.

    barnabas server &
    python examples/delayed_delivery.py [BOOTSTRAP]

Until they are due, jobs are records of the topic jobs.delayed. Workers move them from there to the
topic of the jobs, so a job for later is lost with no process.
"""

import argparse
from datetime import UTC, datetime, timedelta

from barnabas import Admin, Queue


def main(bootstrap: str) -> None:
    with Admin(bootstrap) as admin:
        admin.create_topic("jobs", exist_ok=True)
    with Queue(bootstrap, "jobs", group="workers", value_format="str") as jobs:
        jobs.put("in a while", delay="3s")
        jobs.put("in a moment", at=datetime.now(UTC) + timedelta(seconds=1))
        jobs.put("at once")
        left = 3
        while left and (job := jobs.get(timeout_s=30)) is not None:
            print("due:", job.value)
            job.accept()
            left -= 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bootstrap", nargs="?", default="localhost:9092", help="HOST:PORT,...")
    main(parser.parse_args().bootstrap)
