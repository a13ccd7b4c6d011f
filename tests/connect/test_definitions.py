"""Settings of connectors become pipelines, or errors that name the wrong setting."""

import json
from pathlib import Path

import pytest

from barnabas.cli.pipeline.selection import definitions_to_run
from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.connectors.connector import connector_of
from barnabas.spark.pipelines.connectors.kinds import kinds
from barnabas.spark.pipelines.connectors.pipeline_files import check_config, pipelines_of
from barnabas.spark.pipelines.connectors.validation import definitions, plugins, validated
from barnabas.spark.pipelines.definition.pipeline import Pipeline
from barnabas.spark.pipelines.definition.sql_file import SINKS, SOURCES
from barnabas.spark.pipelines.sinks.parquet import ParquetSink
from barnabas.spark.pipelines.sinks.topic import TopicSink
from barnabas.spark.pipelines.sources.postgres_changes import PostgresChangesSource
from barnabas.spark.pipelines.sources.topic import TopicSource

HERE = Path("/somewhere")
DEBEZIUM = {
    "name": "shop",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "tasks.max": "1",
    "database.hostname": "db",
    "database.port": "5433",
    "database.user": "changes",
    "database.password": "se/cret@",
    "database.dbname": "shop",
    "topic.prefix": "shop",
    "table.include.list": "public.orders,public.customers",
    "plugin.name": "pgoutput",
    "slot.name": "shop_slot",
    "snapshot.mode": "no_data",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
TO_FILES = {
    "name": "lake",
    "connector.class": "to_parquet",
    "topics": "orders,returns",
    "path": "lake/orders",
    "partition.by": "day=date(at)",
    "source.schema": "id BIGINT, at TIMESTAMP",
}


def pipeline_of(config: dict[str, str]) -> Pipeline:
    connector = connector_of(config, HERE)
    assert connector.errors.found == {}
    assert connector.pipeline is not None
    return connector.pipeline


def errors_of(**changes: str | None) -> dict[str, list[str]]:
    config = {**TO_FILES, **{name.replace("__", "."): value for name, value in changes.items()}}
    return check_config({n: v for n, v in config.items() if v is not None}, HERE).found


def test_what_debezium_s_connector_is_told_is_a_source_of_changes() -> None:
    connector = connector_of(DEBEZIUM, HERE)
    assert connector.topics == ("shop.public.orders", "shop.public.customers")
    defined = pipeline_of(DEBEZIUM)
    source, sink = defined.sources["source"], defined.sink
    assert isinstance(source, PostgresChangesSource)
    assert source.url == "postgresql://changes:se%2Fcret%40@db:5433/shop"
    assert source.tables == ("public.orders", "public.customers")
    assert source.settings == {
        "slot.name": "shop_slot",
        "snapshot.mode": "no_data",
        "topic.prefix": "shop",
    }
    assert isinstance(sink, TopicSink)
    assert (sink.topic_per_row, sink.exactly_once) == (True, True)


def test_kafka_s_own_file_source_is_a_source_of_lines() -> None:
    config = {
        "name": "lines",
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "file": "/var/log/app[1].log",
        "topic": "lines",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    }
    defined = pipeline_of(config)
    assert "/var/log/app[[]1].log" in defined.sources["source"].describe()
    assert defined.sink.topics == ("lines",)
    del config["file"]
    assert list(check_config(config, HERE).found) == ["file"]


def test_a_sink_reads_topics() -> None:
    defined = pipeline_of(
        {
            **TO_FILES,
            "max.rows.per.batch": "1000",
            "errors.deadletterqueue.topic.name": "bad",
            "consumer.override.auto.offset.reset": "latest",
            "spark.sql.shuffle.partitions": "3",
            "trigger": "5 seconds",
        }
    )
    source, sink = defined.sources["source"], defined.sink
    assert isinstance(source, TopicSource)
    assert (source.topics, source.dead_letters) == (("orders", "returns"), "bad")
    assert source.starting_offsets == "latest"
    assert source.options == {"maxOffsetsPerTrigger": "1000"}
    assert isinstance(sink, ParquetSink)
    assert sink.path == "/somewhere/lake/orders"
    assert (defined.name, defined.trigger) == ("lake", "5 seconds")
    assert defined.conf == {"spark.sql.shuffle.partitions": "3"}


def test_any_source_goes_to_any_sink() -> None:
    config = {
        "name": "copy",
        "connector.class": "from_files",
        "path": "in",
        "schema": "id BIGINT",
        "sink.class": "to_parquet",
        "sink.path": "out",
    }
    defined = pipeline_of(config)
    assert isinstance(defined.sink, ParquetSink)
    assert defined.sink.path == "/somewhere/out"


@pytest.mark.parametrize(
    ("changes", "setting", "said"),
    [
        ({"path": None}, "path", "Missing required setting 'path'"),
        ({"partiton__by": "x"}, "partiton.by", "did you mean partition_by"),
        ({"tasks__max": "0"}, "tasks.max", "1 or more"),
        ({"tasks__max": "many"}, "tasks.max", "a number"),
        ({"compact": "often"}, "compact", "a number"),
        ({"topics": None}, "topics", "topics"),
        ({"source__schema": "id BIGINTT"}, "source.schema", "BIGINTT"),
        ({"source__colour": "red"}, "source.colour", "colour"),
        ({"transforms": "mask"}, "transforms", "transforms.mask.type"),
        ({"transforms__mask__type": "MaskField$Value"}, "transforms.mask.type", "in transforms"),
        (
            {"transforms": "r", "transforms__r__type": "RegexRouter"},
            "transforms.r.type",
            "a connector that writes topics",
        ),
        (
            {"value__converter": "io.confluent.connect.avro.AvroConverter"},
            "value.converter",
            "Avro",
        ),
        (
            {"value__converter": "org.apache.kafka.connect.json.JsonConverter"},
            "value.converter.schemas.enable",
            "schemas.enable=false",
        ),
        ({"errors__tolerance": "some"}, "errors.tolerance", "none or all"),
        ({"spark__driver__memory": "2g"}, "spark.driver.memory", "spark.own=true"),
        ({"connector__class": "to_parket"}, "connector.class", "did you mean to_parquet"),
        ({"connector__class": None}, "connector.class", "Missing"),
        ({"trigger": "soon"}, "trigger", "10 seconds"),
        ({"name": "a b"}, "name", "letters, digits"),
        ({"name": "a\n"}, "name", "letters, digits"),
        ({"producer__override__acks": "1"}, "producer.override.acks", "would be ignored"),
    ],
)
def test_a_wrong_setting_is_named(changes: dict[str, str | None], setting: str, said: str) -> None:
    found = errors_of(**changes)
    assert list(found) == [setting]
    assert said in " ".join(found[setting])


def test_a_setting_that_a_database_s_changes_do_not_know_is_refused() -> None:
    found = check_config({**DEBEZIUM, "slot.nam": "x"}, HERE).found
    assert "slot.nam" in " ".join(found.popitem()[1])
    without = {name: value for name, value in DEBEZIUM.items() if name != "database.dbname"}
    assert list(check_config(without, HERE).found) == ["database.dbname"]


def test_a_pipeline_in_sql_is_a_connector() -> None:
    text = (
        '-- source words: topic words schema="word STRING"\n'
        "-- sink: topic loud\n"
        "SELECT upper(word) AS word FROM words"
    )
    config = {"name": "loud", "connector.class": "pipeline", "pipeline.sql": text}
    (defined,) = pipelines_of(config, HERE, lambda: None)
    assert (defined.name, defined.sink.topics) == ("loud", ("loud",))
    broken = check_config({**config, "pipeline.sql": text.replace("sink", "snk")}, HERE).found
    assert list(broken) == ["pipeline.sql"]
    assert "/tmp" not in broken["pipeline.sql"][0]


def test_files_outside_of_the_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("")
    inside = tmp_path / "pipelines"
    inside.mkdir()
    config = {"name": "x", "connector.class": "pipeline", "pipeline.file": "../secret.py"}
    found = check_config(config, inside).found
    assert "is not in the folder" in found["pipeline.file"][0]


def test_a_name_that_is_a_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text("")
    config = {"name": "a/../../b", "connector.class": "pipeline", "pipeline.file": "some.py"}
    assert list(check_config(config, tmp_path).found) == ["name"]


def test_a_file_may_define_several_and_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    each = (
        "@pipeline(sources={{'a': from_topic('{0}', 'x STRING')}}, sink=to_topic('{0}-out'))\n"
        "def {0}(a):\n    return a\n"
    )
    head = "from barnabas.spark.pipelines import from_topic, pipeline, to_topic\n"
    file.write_text(head + each.format("one"))
    config = {"name": "c", "connector.class": "pipeline", "pipeline.file": "two.py"}
    assert [p.name for p in pipelines_of(config, tmp_path, lambda: None)] == ["c"]
    file.write_text(head + each.format("one") + each.format("two"))
    assert [p.name for p in pipelines_of(config, tmp_path, lambda: None)] == ["c.one", "c.two"]


def test_every_source_and_sink_is_a_plugin() -> None:
    names = {each["class"] for each in plugins("1")}
    assert {f"from_{each}" for each in SOURCES} - names == {"from_table"}
    assert {f"to_{each}" for each in SINKS} - names == {"to_console", "to_memory"}
    for name in names:
        described = {each.name: each for each in definitions(name)}
        assert described["connector.class"].type == "CLASS"
    assert {each.direction for each in kinds().values()} == {"source", "sink"}


def test_validation_has_the_shape_of_kafka_connect() -> None:
    found = validated("to_parquet", {**TO_FILES, "compact": "x"}, HERE)
    assert found["error_count"] == 1
    by_name = {each["definition"]["name"]: each for each in found["configs"]}
    wrong = by_name["compact"]
    assert wrong["definition"]["type"] == "INT"
    assert wrong["definition"]["default_value"] == "0"
    assert wrong["value"]["errors"] == ["compact is a number, not 'x'"]
    assert wrong["value"]["value"] == "x"
    assert by_name["path"]["definition"]["required"] is True
    assert "to_parquet" in found["groups"]


@pytest.mark.parametrize(
    ("plugin", "config"),
    [
        ("PostgresConnector", DEBEZIUM),
        ("to_http", {"name": "x", "topics": "t", "url": "http://h", "headers": "A: se/cret@"}),
        ("from_http", {"name": "x", "topic": "t", "token": "se/cret@"}),
        ("to_parquet", {**TO_FILES, "source.class": "from_query", "source.url": "x://u:se/cret@h"}),
        ("to_http", {"name": "x", "topics": "t", "url": "http://u:se/cret@h:port/"}),
        ("to_http", {"name": "x", "topics": "t", "url": "http://h", "headers": "Basic se/cret@"}),
        ("to_parquet", {**TO_FILES, "consumer.override.sasl.jaas.config": "se/cret@"}),
    ],
)
def test_validation_shows_no_secrets(plugin: str, config: dict[str, str]) -> None:
    assert "se/cret" not in json.dumps(validated(plugin, config, HERE))


def test_a_connector_in_a_file_is_a_pipeline_for_the_foreground(tmp_path: Path) -> None:
    file = tmp_path / "lake.json"
    config = {name: value for name, value in TO_FILES.items() if name != "name"}
    file.write_text(json.dumps({"name": "lake", "config": {**config, "compact": 20}}))
    found = definitions_to_run(file, None, lambda: None, strict=True)
    sink = found.pipelines["lake"].sink
    assert isinstance(sink, ParquetSink)
    assert (sink.path, sink.compact) == (str(tmp_path / "lake/orders"), 20)
    file.write_text(json.dumps({"name": "lake", "config": {**config, "compact": "x"}}))
    with pytest.raises(InvalidArgument, match=r"lake.json: compact is a number"):
        definitions_to_run(file, None, lambda: None, strict=True)
    file.write_text("[]")
    with pytest.raises(InvalidArgument, match="a connector is"):
        definitions_to_run(file, None, lambda: None, strict=True)
