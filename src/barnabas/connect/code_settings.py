"""Settings of a connector that run code, which an instance takes only with `--allow-code`.

Whoever can write the configs topic or reach the REST API chooses a connector's settings. Without
code these name plugins that are installed: what a plugin can read and write, such as files and
databases, is possible all the same.
"""

from collections.abc import Mapping

from barnabas.errors import InvalidArgument
from barnabas.spark.pipelines.connectors.kinds import PIPELINE

_CODE = frozenset(("connector", "source.connector", "sink.connector", "transform.sql"))
"""Classes of Python, and SQL, in which functions can call any class of the JVM."""
_SPARK = "spark."
_HARMLESS = frozenset(("spark.own", "spark.driver.memory", "spark.sql.shuffle.partitions"))


def code_setting(config: Mapping[str, str]) -> str | None:
    """The first setting that runs code; None if there is none."""
    if config.get("connector.class") == PIPELINE:
        return "connector.class"
    return next(
        (
            name
            for name in sorted(config)
            if name in _CODE or (name.startswith(_SPARK) and name not in _HARMLESS)
        ),
        None,
    )


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
