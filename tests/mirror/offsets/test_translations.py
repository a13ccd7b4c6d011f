"""Which partitions have syncs to be stored."""

import pytest

from barnabas.client.connect.cluster_metadata import TopicPartition
from barnabas.errors import ConnectionLost
from barnabas.mirror.offsets.translations import Translations
from barnabas.mirror.syncs import OffsetSync

ONE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


def changed(translations: Translations) -> list[TopicPartition]:
    with translations.changes() as changes:
        return [partition for partition, _ in changes]


def test_what_could_not_be_stored_is_tried_again() -> None:
    translations = Translations()
    translations.add([OffsetSync(ONE, ONE, 0, 0, 1)])

    def store() -> None:
        with translations.changes() as changes:
            assert [partition for partition, _ in changes] == [ONE]
            translations.add([OffsetSync(OTHER, OTHER, 0, 0, 1)])
            raise ConnectionLost("the target is away")

    with pytest.raises(ConnectionLost):
        store()
    assert changed(translations) == [ONE, OTHER]
    assert changed(translations) == []
