"""All records of a topic, however long that takes: a pause is not its end."""

import barnabas


def all_records(bootstrap: str, topic: str) -> list[barnabas.Message]:
    with barnabas.Admin(bootstrap) as admin:
        ends = admin.offsets(topic, "latest")
    found: list[barnabas.Message] = []
    with barnabas.Consumer(bootstrap, topic, start="earliest") as consumer:
        while not (
            consumer.assignment
            and all(consumer.position(each) >= end for each, end in ends.items())
        ):
            found += consumer.poll(timeout_s=0.5)
    return found
