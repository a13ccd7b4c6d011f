"""Which entities a filter matches."""

import pytest

from barnabas.metadata.client_quotas_image import CLIENT_ID, IP, USER, quota_entity
from barnabas.security.quotas.entity_filter import (
    Component,
    EntityFilter,
    InvalidFilter,
    MatchType,
)
from barnabas.wire.errors import ErrorCode

ANN = quota_entity([(USER, "ann")])
ANN_APP = quota_entity([(USER, "ann"), (CLIENT_ID, "app")])
ANY = quota_entity([(USER, None)])
APP = quota_entity([(CLIENT_ID, "app")])
ADDRESS = quota_entity([(IP, "10.0.0.1")])
ALL = [ANN, ANN_APP, ANY, APP, ADDRESS]


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([], False, ALL),
        ([], True, []),
        ([Component(USER, MatchType.EXACT, "ann")], False, [ANN, ANN_APP]),
        ([Component(USER, MatchType.EXACT, "ann")], True, [ANN]),
        ([Component(USER, MatchType.DEFAULT)], False, [ANY]),
        ([Component(USER, MatchType.SPECIFIED)], True, [ANN, ANY]),
        ([Component(USER, MatchType.SPECIFIED)], False, [ANN, ANN_APP, ANY]),
        (
            [Component(USER, MatchType.SPECIFIED), Component(CLIENT_ID, MatchType.EXACT, "app")],
            True,
            [ANN_APP],
        ),
        ([Component(IP, MatchType.SPECIFIED)], True, [ADDRESS]),
        ([Component(CLIENT_ID, MatchType.EXACT, "other")], False, []),
    ],
)
def test_what_matches(components: list[Component], strict: bool, found: list[object]) -> None:
    wanted = EntityFilter(components, strict=strict)
    assert [entity for entity in ALL if wanted.matches(entity)] == found


@pytest.mark.parametrize(
    ("components", "error"),
    [
        ([Component("", 0, "x")], ErrorCode.INVALID_REQUEST),
        ([Component("team", 0, "x")], ErrorCode.UNSUPPORTED_VERSION),
        ([Component(USER, 0)], ErrorCode.INVALID_REQUEST),
        ([Component(USER, 1, "x")], ErrorCode.INVALID_REQUEST),
        ([Component(USER, 2, "x")], ErrorCode.INVALID_REQUEST),
        ([Component(USER, 3)], ErrorCode.INVALID_REQUEST),
        ([Component(USER, 1), Component(USER, 2)], ErrorCode.INVALID_REQUEST),
        ([Component(USER, 1), Component(IP, 1)], ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_refused(components: list[Component], error: ErrorCode) -> None:
    with pytest.raises(InvalidFilter) as refused:
        EntityFilter(components, strict=False)
    assert refused.value.error_code == error
