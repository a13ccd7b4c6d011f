"""Settings `spark.*` of a connector: those of its queries, and those of a Spark driver."""

from collections.abc import Mapping

from barnabas.spark.pipelines.connectors.settings import ConfigErrors

_OWN_SPARK = "spark.own"
_OF_QUERIES = "spark.sql."
"""Settings that a query can have; others are those of a Spark driver."""


def check_spark(name: str, given: Mapping[str, str], errors: ConfigErrors) -> None:
    """Refuse a setting of Spark that the shared one can't be given."""
    has_own = given.get(_OWN_SPARK, "false").lower() == "true"
    if not name.startswith(_OF_QUERIES) and not has_own:
        errors.add(name, f"{name} is fixed when Spark starts: set spark.own=true as well")


def spark_conf(config: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings for the queries of a connector."""
    return {name: value for name, value in config.items() if name.startswith(_OF_QUERIES)}


def driver_conf(config: Mapping[str, str]) -> dict[str, str] | None:
    """Settings of the Spark driver that it has for itself; None if it shares one."""
    if config.get(_OWN_SPARK, "false").lower() != "true":
        return None
    return {
        name: value
        for name, value in config.items()
        if name.startswith("spark.") and not name.startswith((_OF_QUERIES, _OWN_SPARK))
    }
