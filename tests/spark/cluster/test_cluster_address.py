"""The cluster of pipelines, as options of the connector."""

import pytest

from barnabas.errors import InvalidArgument
from barnabas.spark.cluster.cluster_address import ClusterAddress

SIGN_IN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "alice",
    "sasl.password": "hunter2",
}
HERE = ClusterAddress("here:9092", SIGN_IN)


def test_options_have_the_sign_in() -> None:
    assert HERE.options({"subscribe": "t"}) == {
        "kafka.bootstrap.servers": "here:9092",
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.username": "alice",
        "kafka.sasl.password": "hunter2",
        "subscribe": "t",
    }


def test_another_cluster_is_not_told_the_password() -> None:
    other = {"Kafka.Bootstrap.Servers": "there:9092", "subscribe": "t"}
    assert HERE.options(other) == other


def test_another_sign_in_is_not_mixed_with_this_one() -> None:
    own = {"kafka.security.protocol": "SSL", "kafka.ssl.ca.location": "ca.pem"}
    assert HERE.options(own) == {"kafka.bootstrap.servers": "here:9092", **own}


def test_wrong_settings_are_refused_and_secrets_not_shown() -> None:
    assert "hunter2" not in repr(HERE)
    with pytest.raises(InvalidArgument, match=r"sasl\.username has no effect"):
        ClusterAddress("here:9092", {"sasl.username": "alice"})
