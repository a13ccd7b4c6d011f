"""Settings of connectors become pipelines, or errors that name the wrong setting."""

import json
from pathlib import Path

import pytest

from barnabas.changes.mysql.settings import mysql_settings
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
from barnabas.spark.pipelines.sources.mysql_changes import MySqlChangesSource
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


MYSQL = {
    "name": "shop",
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "database.hostname": "::1",
    "database.port": "3307",
    "database.user": "changes",
    "database.password": "se/cret@",
    "database.server.id": "184054",
    "topic.prefix": "fulfilment",
    "database.include.list": "shop",
    "table.include.list": "shop.orders,shop\\.customers",
    "include.schema.changes": "false",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
}


@pytest.mark.parametrize(
    ("name", "scheme"),
    [("mysql.MySqlConnector", "mysql"), ("mariadb.MariaDbConnector", "mariadb")],
)
def test_what_debezium_s_connectors_for_mysql_are_told(name: str, scheme: str) -> None:
    config = {**MYSQL, "connector.class": f"io.debezium.connector.{name}"}
    connector = connector_of(config, HERE)
    assert connector.topics == ("fulfilment.shop.orders", "fulfilment.shop.customers")
    source = pipeline_of(config).sources["source"]
    assert isinstance(source, MySqlChangesSource)
    assert source.url == f"{scheme}://changes:se%2Fcret%40@[::1]:3307/shop"
    settings = mysql_settings(source._settings())
    assert (settings.hostname, settings.port, settings.server_id) == ("::1", 3307, 184054)
    assert (settings.connector, settings.topic_prefix) == (scheme, "fulfilment")
    assert settings.tables.has_table("shop", "customers")
    assert not settings.tables.has_table("shop", "returns")


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"table.include.list": None}, "table.include.list"),
        ({"database.user": None}, "database.user"),
        (
            {"schema.history.internal.kafka.topic": "history"},
            "schema.history.internal.kafka.topic",
        ),
        ({"database.ssl.mode": "required"}, "database.ssl.mode"),
        ({"key.converter": "string", "key.converter.schemas.enable": None}, "key.converter"),
    ],
)
def test_settings_of_debezium_for_mysql_that_are_refused(
    changes: dict[str, str | None], setting: str
) -> None:
    config = {name: each for name, each in {**MYSQL, **changes}.items() if each is not None}
    assert list(check_config(config, HERE).found) == [setting]


def test_topics_of_tables_without_a_database() -> None:
    config = {
        "name": "shop",
        "connector.class": "from_mysql_changes",
        "url": "mysql://u@h/shop",
        "tables": "orders",
        "topic.prefix": "p",
    }
    assert connector_of(config, HERE).topics == ("p.shop.orders",)


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


def test_a_sink_reads_topics_by_a_pattern() -> None:
    config = {
        **TO_FILES,
        "topics.regex": r"orders-\w{1,3}",
        "errors.deadletterqueue.topic.name": "b",
    }
    del config["topics"]
    source = pipeline_of(config).sources["source"]
    assert isinstance(source, TopicSource)
    assert (source.topic, source.pattern, source.topics) == (r"orders-\w{1,3}", True, ())
    assert (source.reads("orders-eu"), source.reads("orders-europe")) == (True, False)
    assert source.describe() == r"topics that match orders-\w{1,3}"
    assert pipeline_of(config).written_topics == ["b"], "dead letters are created"
    begins = source.starting_at({"orders-eu": {"0": 5}, "other": {"0": 1}}).starting_offsets
    assert json.loads(begins) == {"orders-eu": {"0": 5}, "*": -2}


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
        ({"topics": None}, "topics", "'topics', or 'topics.regex'"),
        ({"topics__regex": "o.*"}, "topics", "topics and topics.regex are the same"),
        ({"topics": None, "topics__regex": "("}, "topics.regex", "not a regular expression"),
        (
            {
                "topics": None,
                "topics__regex": "o.*",
                "errors__deadletterqueue__topic__name": "odd",
            },
            "source.dead_letters",
            "the source reads odd too",
        ),
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


JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
GENERATED = {"name": "g", "connector.class": "from_generator", "columns": "id BIGINT", "topic": "t"}
FILES = {
    "name": "f",
    "connector.class": "from_files",
    "path": "in",
    "schema": "id BIGINT",
    "topic": "t",
}
TO_TOPIC = {"name": "t", "connector.class": "to_topic", "topic": "out", "topics": "in"}
RECORDS = {"name": "r", "connector.class": "to_parquet", "path": "x", "topics": "in"}
PIPELINE = {
    "name": "p",
    "connector.class": "pipeline",
    "pipeline.sql": "-- source a: topic a\n-- sink: topic b\nSELECT value FROM a",
}
FROM_FILES = {"source.class": "from_files", "source.path": "in", "topics": None}
TO_PARQUET = {"sink.class": "to_parquet", "sink.path": "out", "topic": None}


@pytest.mark.parametrize(
    ("config", "changes", "setting", "said"),
    [
        (PIPELINE, {"key.converter": "string"}, "key.converter", "in the pipeline itself"),
        (PIPELINE, {"transforms": "x"}, "transforms", "in the pipeline itself"),
        (PIPELINE, {"predicates": "x"}, "predicates", "in the pipeline itself"),
        (PIPELINE, {"spark.driver.memory": "2g"}, "spark.driver.memory", "spark.own=true"),
        (PIPELINE, {"topics": "x"}, "topics", "in the pipeline itself"),
        (TO_FILES, {**FROM_FILES, "topics": "orders"}, "topics", "rows come from source.class"),
        (TO_FILES, {**FROM_FILES, "errors.tolerance": "all"}, "errors.tolerance", "ignored"),
        (TO_FILES, {**FROM_FILES, "key.converter": "string"}, "key.converter", "ignored"),
        (TO_FILES, {"source.topic": "orders"}, "topics", "set one of them"),
        (TO_FILES, {"exactly.once.support": "required"}, "exactly.once.support", "to_parquet"),
        (
            TO_FILES,
            {"errors.deadletterqueue.topic.name": "bad", "errors.tolerance": "none"},
            "errors.tolerance",
            "errors.tolerance=all",
        ),
        (
            TO_FILES,
            {"topic.creation.default.partitions": "3"},
            "topic.creation.default.partitions",
            "writes no topic",
        ),
        (TO_FILES, {"errors.retry.timeout": "9"}, "errors.retry.timeout", "Spark would ignore"),
        (TO_FILES, {"partition_by": "x"}, "partition_by", "are the same"),
        (TO_FILES, {"restarts.max": "-1"}, "restarts.max", "0 or more"),
        (
            TO_FILES,
            {"max.rows.per.batch": "5", "source.maxoffsetspertrigger": "7"},
            "max.rows.per.batch",
            "are the same",
        ),
        (
            TO_FILES,
            {
                "consumer.override.auto.offset.reset": "latest",
                "source.starting.offsets": "earliest",
            },
            "consumer.override.auto.offset.reset",
            "are the same",
        ),
        (TO_FILES, {**JSON, "source.format": "avro"}, "value.converter", "source.format is avro"),
        (TO_FILES, {"key.converter": "bytes", "source.key": "k"}, "key.converter", "source.record"),
        (TO_FILES, {"key.converter": "string", "source.record": "key"}, "key.converter", "text"),
        (TO_FILES, {"value.converter.schemas.enable": "true"}, "value.converter", "every record"),
        (
            RECORDS,
            {"key.converter": "json", "key.converter.schemas.enable": "false"},
            "key.converter",
            "not decoded",
        ),
        (GENERATED, {**TO_PARQUET, "topic": "t"}, "topic", "rows go to sink.class=to_parquet"),
        (GENERATED, {"sink.topic": "u"}, "topic", "set one of them"),
        (
            GENERATED,
            {"sink.exactly.once": "false", "exactly.once.support": "disabled"},
            "exactly.once.support",
            "same",
        ),
        (
            GENERATED,
            {
                "key.converter": "json",
                "key.converter.schemas.enable": "false",
                "sink.key": "id",
            },
            "key.converter",
            "written as text",
        ),
        (GENERATED, {"key.converter": "string", "sink.key": "id,id"}, "key.converter", "JSON"),
        (GENERATED, {"predicates": "x"}, "predicates", "in transforms"),
        (
            GENERATED,
            {"topic.creation.default.partitions": "0"},
            "topic.creation.default.partitions",
            "1 or more, or -1",
        ),
        (FILES, {"errors.tolerance": "all"}, "errors.tolerance", "Spark would ignore"),
        (FILES, {"topics": "x"}, "topics", "Spark would ignore"),
        (FILES, {"transaction.boundary": "poll"}, "transaction.boundary", "Spark would ignore"),
        (
            {"name": "h", "connector.class": "from_http", "topic": "hooks"},
            {},
            "sink.topic",
            "the one that is read",
        ),
        (
            {**TO_TOPIC, "exactly.once": "true"},
            {"exactly.once.support": "required"},
            "exactly.once.support",
            "set one of them",
        ),
    ],
)
def test_a_setting_without_effect_is_refused(
    config: dict[str, str], changes: dict[str, str | None], setting: str, said: str
) -> None:
    assert check_config(config, HERE).found.keys() <= {setting}
    whole = {n: each for n, each in {**config, **changes}.items() if each is not None}
    found = check_config(whole, HERE).found
    assert all(each.startswith(setting) for each in found)
    assert said in " ".join(message for each in found.values() for message in each)


def test_a_sink_of_topics_writes_them_exactly_once_wherever_rows_come_from() -> None:
    config = {name: each for name, each in TO_TOPIC.items() if name != "topics"}
    config |= {"source.class": "from_generator", "source.columns": "id BIGINT"}
    for support, once in ((None, True), ("required", True), ("disabled", False)):
        given = config if support is None else {**config, "exactly.once.support": support}
        sink = pipeline_of(given).sink
        assert isinstance(sink, TopicSink)
        assert sink.exactly_once is once
    timeout = {"kafka.transaction.timeout.ms": "5000"}
    sink = pipeline_of({**config, **timeout}).sink
    assert isinstance(sink, TopicSink)
    assert sink.options == timeout


def test_converters_say_what_is_text() -> None:
    def texts(**given: str) -> object:
        transform = pipeline_of({**RECORDS, **{n.replace("_", "."): v for n, v in given.items()}})
        return transform.transform.keywords["as_text"]  # type: ignore[attr-defined]

    assert texts() == ()
    assert texts(value_converter="string") == ("key", "value")
    assert texts(value_converter="string", key_converter="bytes") == ("value",)
    assert texts(key_converter="string") == ("key",)


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
        ("to_parquet", {**TO_FILES, "path": "s3://key:se/cret@lake/orders"}),
        ("to_parquet", {**TO_FILES, "path": "s3://key:se/cret@"}),
        ("to_parquet", {**TO_FILES, "consumer.override.sasl.jaas.config": "se/cret@"}),
    ],
)
def test_validation_shows_no_secrets(plugin: str, config: dict[str, str]) -> None:
    assert "se/cret" not in json.dumps(validated(plugin, config, HERE))


def test_a_connector_in_a_file_is_a_pipeline_for_the_foreground(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "lake.json"
    config = {name: value for name, value in TO_FILES.items() if name != "name"}
    file.write_text(json.dumps({"name": "lake", "config": {**config, "compact": 20}}))
    found = definitions_to_run(file, None, lambda: None, strict=True)
    sink = found.pipelines["lake"].sink
    assert isinstance(sink, ParquetSink)
    assert (sink.path, sink.compact) == (str(tmp_path / "lake/orders"), 20)
    assert caplog.messages == []
    of_service = {"restarts.max": 5, "spark.own": True, "spark.driver.memory": "2g"}
    file.write_text(json.dumps({"name": "lake", "config": {**config, **of_service}}))
    definitions_to_run(file, None, lambda: None, strict=True)
    assert [each.partition(": ")[2] for each in caplog.messages] == [
        "restarts.max has no effect in the foreground: use --restarts",
        "spark.driver.memory has no effect in the foreground: use --conf spark.driver.memory=VALUE",
        "spark.own has no effect in the foreground: this Spark runs nothing else",
    ]
    file.write_text(json.dumps({"name": "lake", "config": {**config, "compact": "x"}}))
    with pytest.raises(InvalidArgument, match=r"lake.json: compact is a number"):
        definitions_to_run(file, None, lambda: None, strict=True)
    file.write_text("[]")
    with pytest.raises(InvalidArgument, match="a connector is"):
        definitions_to_run(file, None, lambda: None, strict=True)
