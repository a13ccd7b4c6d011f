"""Secrets of the cluster are in no plan: Spark's UI, log and errors show plans."""

import base64
import re

from pyspark.sql import DataFrame, SparkSession

from barnabas.spark.cluster.cluster_address import ClusterAddress
from barnabas.spark.pipelines import from_query, from_topic, pipeline, to_memory
from barnabas.spark.pipelines.environment import BrokerRecords, Environment, applied
from barnabas.spark.source.options import DECODING

SECRETS = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "alice",
    "sasl.password": "hunter-two",
    "ssl.certificate.pem": "the-certificate",
    "ssl.key.pem": "the-secret-key",
}


def test_plans_do_not_show_how_pipelines_sign_in(spark: SparkSession) -> None:
    @pipeline(sources={"a": from_topic("a", "x INT", dead_letters="bad")}, sink=to_memory())
    def read(a: object) -> object:
        return a

    here = ClusterAddress("localhost:1", SECRETS)
    rows = read.rows(Environment(spark, BrokerRecords(here), here))
    with applied(spark, {}):
        plan = rows._jdf.queryExecution().analyzed().toString()
    assert "kafka.sasl.username=alice" in plan, "options are shown"
    assert f"{DECODING}=***" in plan
    assert "hunter-two" not in plan
    assert "the-secret-key" not in plan


def test_plans_do_not_show_connectors_which_have_urls_with_passwords(spark: SparkSession) -> None:
    source = from_query("postgresql://alice:hunter-two@shop/db", "orders", "id INT", id="id")

    @pipeline(sources={"a": source}, sink=to_memory())
    def read(a: DataFrame) -> DataFrame:
        return a.where("id > 1")

    here = ClusterAddress("localhost:1")
    with applied(spark, {}):
        plan = read.rows(Environment(spark, BrokerRecords(here), here))._jdf.queryExecution()
        shown = plan.analyzed().toString()
    assert "connector=" in shown.lower(), "options are shown"
    for text in base64_texts(shown):
        assert b"hunter-two" not in text


def base64_texts(text: str) -> list[bytes]:
    """What can be decoded in a text, from each place where an option begins."""
    found = re.findall(r"=([A-Za-z0-9+/]{40,}=*)", text)
    return [base64.b64decode(each + "=" * (-len(each) % 4)) for each in found] + [text.encode()]
