"""Users, as confluent-kafka's administration and ours see them."""

from uuid import uuid4

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from barnabas import Admin
from tests.support.wait import LIMIT_S


def test_both_administrations_see_the_same_users(bootstrap: str) -> None:
    user = f"user-{uuid4().hex[:8]}"
    theirs = AdminClient({"bootstrap.servers": bootstrap})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192)
    upsertion = UserScramCredentialUpsertion(user, info, b"secret")
    theirs.alter_user_scram_credentials([upsertion])[user].result(LIMIT_S)
    with Admin(bootstrap) as ours:
        assert ours.users()[user].mechanisms == {"SCRAM-SHA-512": 8192}
        ours.set_password(user, "other", mechanisms=["SCRAM-SHA-256"])
        described = theirs.describe_user_scram_credentials([user])[user].result(LIMIT_S)
        assert {(each.mechanism, each.iterations) for each in described.scram_credential_infos} == {
            (ScramMechanism.SCRAM_SHA_256, 16384),
            (ScramMechanism.SCRAM_SHA_512, 8192),
        }
        deletion = UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_512)
        theirs.alter_user_scram_credentials([deletion])[user].result(LIMIT_S)
        assert ours.users()[user].mechanisms == {"SCRAM-SHA-256": 16384}
        ours.delete_user(user)
        ours.delete_user(user, missing_ok=True)
        assert user not in theirs.describe_user_scram_credentials().result(LIMIT_S)
    with pytest.raises(KafkaException) as missing:
        theirs.alter_user_scram_credentials([deletion])[user].result(LIMIT_S)
    assert missing.value.args[0].code() == KafkaError.RESOURCE_NOT_FOUND
