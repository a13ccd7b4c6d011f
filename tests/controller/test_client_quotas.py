"""What the controller decides about quotas."""

import pytest

from barnabas.controller.client_quotas import alter_client_quotas
from barnabas.controller.draft import Draft
from barnabas.metadata.client_quotas_image import CLIENT_ID, IP, USER
from barnabas.metadata.image import MetadataImage
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)

RATE = "producer_byte_rate"


def entry(parts: list[tuple[str, str | None]], *ops: OpData) -> EntryData:
    return EntryData([EntityData(*part) for part in parts], list(ops))


def alter(
    image: MetadataImage, *entries: EntryData, validate_only: bool = False
) -> tuple[list[int], int]:
    """The error of each entity, and how many records were written."""
    draft = Draft(image, lambda _: False, lambda _: 1)
    answer = alter_client_quotas(draft, AlterClientQuotasRequest(list(entries), validate_only))
    return [result.error_code for result in answer.entries], len(draft.records)


def test_set_change_and_remove() -> None:
    image = MetadataImage()
    ann, any_user = [(USER, "ann")], [(USER, None)]
    both = [OpData(RATE, 1024.0), OpData("request_percentage", 50.0)]
    assert alter(image, entry(ann, *both), entry(any_user, OpData(RATE, 1.0))) == ([0, 0], 3)
    assert alter(image, entry(ann, *both)) == ([0], 0), "nothing has changed"
    assert alter(image, entry(ann, OpData(RATE, 2048.0))) == ([0], 1)
    quotas = image.client_quotas.quotas
    assert quotas[(USER, "ann"),] == {RATE: 2048, "request_percentage": 50}
    remove = OpData(RATE, 0.0, True)
    assert alter(image, entry(ann, remove, OpData("request_percentage", 0, True))) == ([0], 2)
    assert alter(image, entry(ann, remove)) == ([0], 0), "removing what is not there is no error"
    assert quotas == {((USER, None),): {RATE: 1}}


def test_the_order_of_the_parts_does_not_matter() -> None:
    image = MetadataImage()
    alter(image, entry([(USER, "ann"), (CLIENT_ID, "app")], OpData(RATE, 1.0)))
    alter(image, entry([(CLIENT_ID, "app"), (USER, "ann")], OpData(RATE, 2.0)))
    assert list(image.client_quotas.quotas.values()) == [{RATE: 2}]


def test_validate_only_changes_nothing() -> None:
    image = MetadataImage()
    good, bad = OpData(RATE, 1.0), OpData("no_such_key", 1.0)
    answer = alter(image, entry([(USER, "a")], good), entry([(USER, "b")], bad), validate_only=True)
    assert answer == ([0, ErrorCode.INVALID_REQUEST], 0)
    assert not image.client_quotas.quotas


@pytest.mark.parametrize(
    "wrong",
    [
        entry([], OpData(RATE, 1.0)),
        entry([("team", "a")], OpData(RATE, 1.0)),
        entry([(USER, "")], OpData(RATE, 1.0)),
        entry([(USER, "a"), (USER, "b")], OpData(RATE, 1.0)),
        entry([(USER, "a"), (IP, "10.0.0.1")], OpData(RATE, 1.0)),
        entry([(IP, "10.0.0.1")], OpData(RATE, 1.0)),
        entry([(IP, "not an address")], OpData("connection_creation_rate", 1.0)),
        entry([(IP, "::0001")], OpData("connection_creation_rate", 1.0)),
        entry([(USER, "a")], OpData("connection_creation_rate", 1.0)),
        entry([(USER, "a")], OpData("no_such_key", 1.0)),
        entry([(USER, "a")], OpData(RATE, -1.0)),
        entry([(USER, "a")], OpData(RATE, 0.5)),
        entry([(USER, "a")], OpData(RATE, 1.0), OpData(RATE, 2.0)),
        entry([(USER, "a")], OpData("consumer_byte_rate", 1.0), OpData(RATE, -1.0)),
    ],
)
def test_an_error_leaves_this_entity_alone_and_not_others(wrong: EntryData) -> None:
    image = MetadataImage()
    answer = alter(image, wrong, entry([(USER, "other")], OpData(RATE, 1.0)))
    assert answer == ([ErrorCode.INVALID_REQUEST, 0], 1)
    assert list(image.client_quotas.quotas) == [((USER, "other"),)]


def test_an_entity_that_comes_twice_is_refused() -> None:
    image = MetadataImage()
    twice = entry([(USER, "a")], OpData(RATE, 1.0))
    assert alter(image, twice, twice) == ([ErrorCode.INVALID_REQUEST], 0)
