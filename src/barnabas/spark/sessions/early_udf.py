"""UDFs that are defined before there is a Spark session, as at the top of a pipeline's file.

PySpark asks the JVM for two things when `@udf("string")` is evaluated: to parse the return type,
and whether UDFs use Arrow. Neither is needed before the UDF is used, so both wait until then, and
a definition can be read without starting Spark. The replaced functions are not public in PySpark;
tests check that they exist. With a session, this does nothing.
"""

from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import builtin
from pyspark.sql.types import DataType
from pyspark.sql.udf import UserDefinedFunction

_functions: Any = builtin
_class: Any = UserDefinedFunction
_create_udf = _functions._create_py_udf
_parsed_type = _class.returnType.fget
_create_jvm_udf = _class._create_judf
_UNDECIDED = "_barnabas_undecided"


def allow_early_udfs() -> None:
    """Let UDFs be defined without a session, in this process."""
    _functions._create_py_udf = _create_early_udf
    _class.returnType = property(_return_type)
    _class._create_judf = _create_decided_udf


def _return_type(udf: UserDefinedFunction) -> DataType | str:
    """The type, or its text while there is no parser: PySpark takes both."""
    if isinstance(udf._returnType, str) and SparkContext._active_spark_context is None:
        return udf._returnType
    parsed: DataType = _parsed_type(udf)
    return parsed


def _create_early_udf(f: Any, returnType: Any, useArrow: bool | None = None) -> Any:  # noqa: N803
    created: Any = _create_udf(f, returnType, useArrow)
    if useArrow is None and SparkSession._instantiatedSession is None:
        setattr(created._unwrapped, _UNDECIDED, True)
    return created


def _create_decided_udf(udf: UserDefinedFunction, *arguments: Any, **named: Any) -> Any:
    """Decide as PySpark does, with the current session."""
    if getattr(udf, _UNDECIDED, False):
        decided: Any = _create_udf(udf.func, udf._returnType, None)
        udf.evalType = decided.evalType
        setattr(udf, _UNDECIDED, False)
    return _create_jvm_udf(udf, *arguments, **named)
