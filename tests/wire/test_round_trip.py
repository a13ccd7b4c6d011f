"""Every message, in every version, comes back as it was sent."""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from barnabas.wire.primitives import UnsupportedFieldError, WireError
from tests.support.messages import MESSAGES, KnownMessage, decode, encode, in_version, instances
from tests.support.tier import examples

quick = settings(
    max_examples=examples(25),
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate, Phase.shrink],
)


@pytest.mark.parametrize("known", MESSAGES, ids=str)
@quick
@given(data=st.data())
def test_every_version_comes_back(known: KnownMessage, data: st.DataObject) -> None:
    message = data.draw(instances(known))
    for version in known.versions:
        sent = in_version(known, message, version)
        assert decode(known, encode(sent, version), version) == sent
        _check_what_is_dropped(known, message, version)


def test_defaults_come_back() -> None:
    for known in MESSAGES:
        for version in known.versions:
            sent = in_version(known, known.type(), version)
            assert decode(known, encode(sent, version), version) == sent, (str(known), version)


def _check_what_is_dropped(known: KnownMessage, message: Any, version: int) -> None:
    """A response drops what the version can't carry; a request refuses to drop what it means."""
    needed = known.block.kind == "request" and _must_not_be_dropped(
        known, message, known.block.fields, version
    )
    try:
        encoded = encode(message, version)
    except UnsupportedFieldError:
        assert needed
    except WireError:
        assert in_version(known, message, version) != message  # a null that this version can't say
    else:
        assert not needed
        assert decode(known, encoded, version) == in_version(known, message, version)


def _must_not_be_dropped(known: KnownMessage, struct: Any, fields: list[Any], version: int) -> bool:
    """Whether a field that isn't ignorable is set although the version doesn't carry it."""
    defaults = type(struct)()
    for f in known.present(fields):
        value = getattr(struct, f.attribute)
        if version not in f.versions:
            if not f.ignorable and value != getattr(defaults, f.attribute):
                return True
        elif not f.is_basic and value is not None:
            inner = known.fields_of(f)
            structs = value if f.is_array else [value]
            if any(_must_not_be_dropped(known, s, inner, version) for s in structs):
                return True
    return False
