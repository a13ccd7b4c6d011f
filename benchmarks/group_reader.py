"""A member of a group in a process of its own: `group_reader BOOTSTRAP TOPIC GROUP PROTOCOL`.

It writes the partition and the time of each message that it gets to its output. SIGTERM ends it,
and it leaves the group; without that it does not.
"""

import signal
import sys
import time
from struct import Struct
from typing import Literal, cast

import barnabas

READ = Struct("<id")
SESSION_TIMEOUT_MS = 10_000


def main() -> None:
    bootstrap, topic, group, protocol = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with barnabas.Consumer(
        bootstrap,
        topic,
        group=group,
        group_protocol=cast("Literal['classic', 'consumer']", protocol),
        session_timeout_ms=SESSION_TIMEOUT_MS if protocol == "classic" else None,
        commit_interval_ms=1_000,
        max_wait_ms=100,
    ) as consumer:
        while True:
            messages = consumer.poll(1.0)
            now = time.monotonic()
            sys.stdout.buffer.write(b"".join(READ.pack(each.partition, now) for each in messages))
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
