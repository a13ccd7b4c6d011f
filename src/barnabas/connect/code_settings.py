"""Settings of a connector that run code, which an instance takes only with `--allow-code`.

Anyone who can write the configs topic or reach the REST API chooses a connector's settings. Without
code these name plugins that are installed: what a plugin can read and write, such as files and
databases, is possible all the same.
"""

from collections.abc import Mapping

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.connectors.kinds import PIPELINE

_CODE = frozenset(("connector", "jar", "transform.sql"))
"""Classes of Python and Java, and SQL, in which functions can call any class of the JVM."""
_EXPRESSIONS = frozenset(
    ("delete.when", "idempotency.key", "latest.by", "order.by", "partition.by")
)
"""Expressions of SQL: code if they call a function, and for that they need a parenthesis."""
_ENDS = ("source.", "sink.")
_SPARK = "spark."
_HARMLESS = frozenset(("spark.own", "spark.driver.memory", "spark.sql.shuffle.partitions"))


def code_setting(config: Mapping[str, str]) -> str | None:
    """The first setting that runs code; None if there is none."""
    if config.get("connector.class") == PIPELINE:
        return "connector.class"
    return next((name for name in sorted(config) if _runs_code(name, config[name])), None)


def _runs_code(name: str, value: str) -> bool:
    if name.startswith(_SPARK):
        return name not in _HARMLESS
    for end in _ENDS:
        name = name.removeprefix(end)
    name = name.replace("_", ".")
    return name in _CODE or (name in _EXPRESSIONS and "(" in value)


def code_refusal(config: Mapping[str, str], *, allow_code: bool) -> tuple[str, str] | None:
    """The setting that is refused, and why."""
    name = None if allow_code else code_setting(config)
    if name is None:
        return None
    return name, f"{name} runs code, and this service was started without --allow-code"


def check_code(config: Mapping[str, str], *, allow_code: bool) -> None:
    """Raises `InvalidArgument`."""
    refused = code_refusal(config, allow_code=allow_code)
    if refused is not None:
        raise InvalidArgument(refused[1])
