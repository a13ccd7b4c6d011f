"""A job of Spark works with a delegation token, and not with its user's password."""

from pathlib import Path

from pyspark.sql import SparkSession

import barnabas
from tests.support.sasl import PLAIN_PASSWORD, SaslBroker

USER = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "alice",
    "sasl.password": PLAIN_PASSWORD,
}


def test_a_job_reads_and_writes_with_a_token(spark: SparkSession, tmp_path: Path) -> None:
    with SaslBroker(tmp_path, {"delegation.token.secret.key": "of all tokens"}) as broker:
        with barnabas.Admin(broker.sasl_bootstrap, security=USER) as admin:
            admin.create_topic("in", partitions=2)
            admin.create_topic("out")
            token = admin.create_delegation_token()
        with barnabas.Producer(broker.sasl_bootstrap, security=USER) as producer:
            for number in range(10):
                producer.send("in", b"%d" % number)
        settings = {"security.protocol": "SASL_PLAINTEXT", **token.client_settings()}
        options = {
            "kafka.bootstrap.servers": broker.sasl_bootstrap,
            **{f"kafka.{name}": value for name, value in settings.items()},
        }
        read = spark.read.format("barnabas").options(**options, subscribe="in").load()
        read.select("value").write.format("barnabas").options(**options, topic="out").mode(
            "append"
        ).save()
        written = spark.read.format("barnabas").options(**options, subscribe="out").load()
        assert sorted(int(row.value) for row in written.collect()) == list(range(10))
        assert token.password not in written._jdf.queryExecution().toString()
