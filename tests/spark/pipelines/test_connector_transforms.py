"""Transforms in the settings of a connector."""

import json
from pathlib import Path

from pyspark.sql import SparkSession

from barnabas.spark.pipelines.connectors.connector import connector_of
from barnabas.spark.pipelines.sinks.topic import TopicSink


def test_transforms_are_applied_and_routers_choose_topics(spark: SparkSession) -> None:
    copy = {
        "name": "copy",
        "connector.class": "to_topic",
        "topic": "orders-copy",
        "topics": "orders",
        "source.schema": "id BIGINT, card STRING",
        "transform.sql": "SELECT id, card FROM source WHERE id > 1",
        "transforms": "mask,route",
        "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
        "transforms.mask.fields": "card",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": "(.*)",
        "transforms.route.replacement": "masked-$1",
    }
    connector = connector_of(copy, Path("/somewhere"))
    assert connector.errors.found == {}
    defined = connector.pipeline
    assert defined is not None
    assert isinstance(defined.sink, TopicSink)
    assert defined.sink.topic_per_row
    rows = spark.createDataFrame([(1, "a"), (2, "b")], "id BIGINT, card STRING")
    (found,) = defined.transform(spark, rows).collect()
    assert (found.topic, json.loads(found.value)) == ("masked-orders", {"id": 2, "card": ""})
