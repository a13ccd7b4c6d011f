"""Spark settings from several places: the last one wins, unless the setting has several values.

Options of the JVM and lists of JARs, packages and extensions add up: what a user sets does not take
away what a source needs, or where the log goes.
"""

from collections.abc import Mapping

Conf = Mapping[str, str | int | bool]

_SEPARATORS = {
    "spark.driver.defaultJavaOptions": " ",
    "spark.driver.extraJavaOptions": " ",
    "spark.executor.defaultJavaOptions": " ",
    "spark.executor.extraJavaOptions": " ",
    "spark.jars": ",",
    "spark.jars.packages": ",",
    "spark.jars.repositories": ",",
    "spark.sql.extensions": ",",
}


def has_several_values(name: str) -> bool:
    """Whether values of this setting from several places add up."""
    return name in _SEPARATORS


def is_for_the_jvm(name: str) -> bool:
    """Whether this setting is needed before a JVM starts, and can't be set later."""
    return name.endswith("JavaOptions")


def combined(*confs: Conf) -> dict[str, str | int | bool]:
    """All settings. If JVM options contradict each other, the JVM uses the last."""
    result: dict[str, str | int | bool] = {}
    for conf in confs:
        for name, value in conf.items():
            before = result.get(name)
            separator = _SEPARATORS.get(name)
            if before is None or separator is None:
                result[name] = value
            elif separator == " ":
                result[name] = f"{before} {value}"
            else:
                each = [*str(before).split(separator), *str(value).split(separator)]
                result[name] = separator.join(dict.fromkeys(each))
    return result
