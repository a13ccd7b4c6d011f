"""Quotas in the image."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.metadata.client_quotas_image import CLIENT_ID, USER
from barnabas.metadata.image import MetadataImage
from barnabas.metadata.records import decode_metadata_record, encode_metadata_record
from barnabas.wire.messages.metadata_records import ClientQuotaRecord, EntityData

ENTITIES = st.sampled_from([None, "ann"]).flatmap(
    lambda user: st.sampled_from(
        [
            [EntityData(USER, user)],
            [EntityData(USER, user), EntityData(CLIENT_ID, "app")],
            [EntityData(CLIENT_ID, "app"), EntityData(USER, user)],
        ]
    )
)
RECORDS = st.builds(
    ClientQuotaRecord,
    ENTITIES,
    st.sampled_from(["producer_byte_rate", "consumer_byte_rate"]),
    st.sampled_from([1.0, 1024.5]),
    st.booleans(),
)


@given(st.lists(RECORDS))
def test_snapshots_and_copies_have_every_quota(records: list[ClientQuotaRecord]) -> None:
    image, model = MetadataImage(), dict[tuple[frozenset[tuple[str, str | None]], str], float]()
    for record in records:
        image.replay(decode_metadata_record(encode_metadata_record(record)))
        parts = frozenset((part.entity_type, part.entity_name) for part in record.entity)
        model.pop((parts, record.key), None)
        if not record.remove:
            model[parts, record.key] = record.value
    restored = MetadataImage()
    restored.restore(image.snapshot())
    copied = image.copy()
    image.client_quotas.clear()
    for each in (restored, copied):
        quotas = each.client_quotas.quotas
        assert model == {
            (frozenset(entity), key): value
            for entity, limits in quotas.items()
            for key, value in limits.items()
        }
        assert all(quotas.values()), "an entity without limits is left"
