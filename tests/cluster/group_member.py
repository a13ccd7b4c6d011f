"""A member of a group in a process of its own: `group_member BOOTSTRAP TOPIC GROUP [INSTANCE_ID]`.

It begins with a line of input, speaks the consumer protocol, and writes a line of JSON for each
message and each event: what, when, the member's epoch, and partitions or the message's partition
and number. SIGTERM lets it leave in order.
"""

import json
import signal
import sys
import time
from collections.abc import Callable

import barnabas
from barnabas import TopicPartition


def main() -> None:
    bootstrap, topic, group, *instance_id = sys.argv[1:]
    leaving: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: leaving.append(number))
    print("ready", flush=True)
    sys.stdin.readline()

    def write(what: str, *rest: object) -> None:
        rebalancer = consumer._core.rebalancer
        assert rebalancer is not None
        member_id, epoch, _ = rebalancer.member.membership
        print(json.dumps([what, time.monotonic(), member_id, epoch, *rest]), flush=True)

    def note(what: str) -> Callable[[list[TopicPartition]], None]:
        return lambda partitions: write(what, sorted(each.partition for each in partitions))

    with barnabas.Consumer(
        bootstrap,
        topic,
        group=group,
        group_protocol="consumer",
        instance_id=instance_id[0] if instance_id else None,
        commit_interval_ms=200,
        on_assigned=note("assigned"),
        on_revoked=note("revoked"),
        on_lost=note("lost"),
    ) as consumer:
        while not leaving:  # not with an exception: it could strike between event and line
            for message in consumer.poll(0.1):
                write("read", message.partition, int(message.value))


if __name__ == "__main__":
    main()
