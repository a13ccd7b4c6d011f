"""A connector that copies words in capitals, and the words that it has written."""

import barnabas
from tests.support.wait import wait_until

LOUD = {
    "connector.class": "to_topic",
    "topics": "words",
    "topic": "loud",
    "source.schema": "word STRING",
    "transform.sql": "SELECT upper(word) AS word FROM source",
}


def words(bootstrap: str, topic: str, wanted: int) -> list[str]:
    """The words in a topic, once there are as many."""
    with barnabas.Consumer(bootstrap, topic, value_format="json") as consumer:
        found: list[str] = []

        def has_all() -> bool:
            found.extend(each.value["word"] for each in consumer.poll(0.5))
            return len(found) >= wanted

        wait_until(has_all, lambda: f"{len(found)} of {wanted}")
        found += [each.value["word"] for each in consumer.poll(0.5)]  # duplicates come now
        return found
