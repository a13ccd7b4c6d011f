"""Users in the image."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.image import MetadataImage
from barnabas.metadata.records import decode_metadata_record, encode_metadata_record
from barnabas.wire.messages.metadata_records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)

NAMES, MECHANISMS = st.sampled_from(["ann", "bob", "eve"]), st.sampled_from([1, 2])
CHANGES = st.lists(
    st.one_of(
        st.builds(
            UserScramCredentialRecord,
            NAMES,
            MECHANISMS,
            st.sampled_from([b"salt", b"longer salt"]),
            st.binary(max_size=2),
            st.binary(max_size=2),
            st.sampled_from([4096, 8192]),
        ),
        st.builds(RemoveUserScramCredentialRecord, NAMES, MECHANISMS),
    )
)


@given(CHANGES)
def test_snapshots_and_copies_have_every_user(
    changes: list[UserScramCredentialRecord | RemoveUserScramCredentialRecord],
) -> None:
    image, model = MetadataImage(), dict[tuple[int, str], UserScramCredentialRecord]()
    for record in changes:
        image.replay(decode_metadata_record(encode_metadata_record(record)))
        model.pop((record.mechanism, record.name), None)
        if isinstance(record, UserScramCredentialRecord):
            model[record.mechanism, record.name] = record
    restored = MetadataImage()
    restored.replay(UserScramCredentialRecord("gone", 1, b"s", b"k", b"k", 4096))
    restored.restore(image.snapshot())
    assert restored == image == image.copy()
    assert image.scram.users() == {name for _, name in model}
    for (mechanism, name), record in model.items():
        assert image.scram.of_user(name)[mechanism].stored_key == record.stored_key
    for mechanism in (1, 2):
        shapes = {(r.iterations, len(r.salt)) for (m, _), r in model.items() if m == mechanism}
        assert set(image.scram.shapes(mechanism)) == shapes


def test_a_copy_does_not_see_later_changes() -> None:
    image = MetadataImage()
    copy = image.copy()
    image.replay(UserScramCredentialRecord("ann", 1, b"s", b"k", b"k", 4096))
    assert copy.scram.users() == set()


def test_records_do_not_show_their_keys() -> None:
    record = UserScramCredentialRecord("ann", 1, b"salty", b"stored", b"server", 4096)
    assert "ann" in repr(record)
    assert not any(secret in repr(record) for secret in ("salty", "stored'", "server'"))
