"""Connectors that are a pipeline: its SQL as a setting, or a file of the service's folder."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from barnabas.errors import BarnabasError, InvalidArgument
from barnabas.spark.pipelines.connectors.connector import connector_of
from barnabas.spark.pipelines.connectors.driver_settings import check_spark, spark_conf
from barnabas.spark.pipelines.connectors.kinds import PIPELINE
from barnabas.spark.pipelines.connectors.mirrors import check_mirror, is_mirror
from barnabas.spark.pipelines.connectors.settings import ConfigErrors, Setting
from barnabas.spark.pipelines.connectors.shared_settings import check_common
from barnabas.spark.pipelines.definition.definition_watch import DefinitionWatch
from barnabas.spark.pipelines.definition.pipeline import Pipeline, check_name
from barnabas.spark.pipelines.definition.problems import problems_of
from barnabas.spark.pipelines.definition.sql_file import read_sql

SQL = "pipeline.sql"
FILE = "pipeline.file"
OF_PIPELINES = [
    Setting(SQL, documentation="A pipeline in SQL, with its comments.", group="Pipeline"),
    Setting(
        FILE,
        documentation="A .sql or .py file, in the folder that the service was started with.",
        group="Pipeline",
    ),
]

TAKEN = {"name", "connector.class", "tasks.max", "trigger", "restarts.max", "spark.own"} | {
    each.name for each in OF_PIPELINES
}
"""Other settings are about a source or a sink, and a pipeline's own definition has these."""


def check_config(config: Mapping[str, str], folder: Path) -> ConfigErrors:
    """What is wrong with settings. Python files are not run here, only looked for."""
    if is_mirror(config):
        return check_mirror(config)
    if config.get("connector.class") != PIPELINE:
        return connector_of(config, folder).errors
    errors = ConfigErrors()
    check_common(config, errors)
    try:
        check_name(config.get("name", "connector"))  # also the name of files, as its log
    except InvalidArgument as error:
        errors.add("name", str(error))
    for name in config:
        if name in TAKEN or name in errors.found:
            continue
        if name.startswith("spark."):
            check_spark(name, config, errors)
        else:
            errors.add(
                name,
                f"{name} is not a setting of a pipeline, and would be ignored: say it in the "
                "pipeline itself",
            )
    given = [name for name in (SQL, FILE) if config.get(name)]
    if len(given) != 1:
        errors.add(SQL, f"set {SQL} or {FILE}, one of them")
        return errors
    try:
        if given == [SQL]:
            for problem in problems_of(_of_sql(config, folder)):
                errors.add(SQL, str(problem))
        else:
            _file(config[FILE], folder)
    except InvalidArgument as error:
        errors.add(given[0], str(error))
    return errors


def created_topics(config: Mapping[str, str], folder: Path) -> tuple[str, ...]:
    """Topics that are created for a connector, beside those that its pipelines name."""
    if config.get("connector.class") == PIPELINE or is_mirror(config):
        return ()
    return connector_of(config, folder).topics


def pipelines_of(
    config: Mapping[str, str], folder: Path, start_spark: Callable[[], object]
) -> list[Pipeline]:
    """The pipelines of a connector; several only of a file. Raises `BarnabasError`."""
    if is_mirror(config):
        raise InvalidArgument(
            "a mirror is no pipeline: `barnabas mirror run` copies topics, and the service for "
            "connectors runs mirrors in processes of their own"
        )
    if config.get("connector.class") != PIPELINE:
        connector = connector_of(config, folder)
        if connector.pipeline is None or connector.errors:
            raise InvalidArgument("; ".join(connector.errors.messages()))
        return [connector.pipeline]
    errors = check_config(config, folder)
    if errors:
        raise InvalidArgument("; ".join(errors.messages()))
    if SQL in config:
        return [_as_run(_of_sql(config, folder), config, config["name"])]
    file = _file(config[FILE], folder)
    found = DefinitionWatch(file).load(start_spark)  # as it is now, whatever was loaded before
    found.check()
    if not found.pipelines:
        raise InvalidArgument(f"no pipeline in {config[FILE]}")
    several = len(found.pipelines) > 1
    return [
        _as_run(each, config, f"{config['name']}.{each.name}" if several else config["name"])
        for each in found.pipelines.values()
    ]


def _as_run(defined: Pipeline, config: Mapping[str, str], name: str) -> Pipeline:
    return replace(
        defined,
        name=name,
        conf={**defined.conf, **spark_conf(config)},
        trigger=config.get("trigger", defined.trigger),
    )


def _of_sql(config: Mapping[str, str], folder: Path) -> Pipeline:
    name = config.get("name", "connector")
    with TemporaryDirectory() as temporary:
        file = Path(temporary) / f"{PIPELINE}.sql"
        file.write_text(config[SQL], "utf-8")
        try:
            return replace(read_sql(file).resolved(folder), name=name)
        except BarnabasError as error:
            raise InvalidArgument(str(error).removeprefix(f"{file}: ")) from None


def _file(name: str, folder: Path) -> Path:
    found = (folder / name).resolve()
    if not found.is_relative_to(folder.resolve()):
        raise InvalidArgument(f"{name} is not in the folder of the service's pipelines, {folder}")
    if not found.is_file() or found.suffix not in (".py", ".sql"):
        raise InvalidArgument(f"{name} is not a .py or .sql file in {folder}")
    return found
