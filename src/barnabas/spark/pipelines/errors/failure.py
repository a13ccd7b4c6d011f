"""The reason of a failed query, in a line.

Spark wraps errors of tasks and of Python code in several others, each with a stack trace.
"""

import re
import sysconfig
from pathlib import Path

import barnabas
from barnabas.spark.pipelines.errors.known_causes import known_cause

_WRAPPED = (
    re.compile(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ", re.DOTALL),
    re.compile(r"^Job aborted due to stage failure: "),
    re.compile(r"^Task \d+ in stage [\d.]+ failed \d+ times?, most recent failure: "),
    re.compile(r"^Lost task [\d.]+ in stage [\d.]+ \(TID \d+\) \(.*?\): "),
    re.compile(r"^(?:[a-z]\w*\.)+(?=[A-Z]\w*: )"),
    re.compile(r"^(?:SparkRuntimeException: )?\[USER_RAISED_EXCEPTION\] "),
    re.compile(r"^UndecodableValue: "),
)
_STATE = re.compile(r"(?:\s*SQLSTATE: \w+;?)+")
_HINTS = {
    "[STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION]": (
        "give the source a watermark and count by windows of that time, or set output_mode to "
        '"update"'
    ),
    "[ATTRIBUTE_NOT_SUPPORTED]": "the DataFrame has no column of that name",
}
_TRACEBACK = "Traceback (most recent call last)"
# PySpark wraps an error in the constructor of a source in another error.
_HIDING = re.compile(r"^UnboundLocalError: .*'reader'")
_LINE = 300
_FRAME = re.compile(r'^  File "(/[^"]+)", line (\d+)', re.MULTILINE)
_NOT_THE_USERS = (
    str(Path(barnabas.__file__).parent),
    sysconfig.get_path("stdlib"),
    sysconfig.get_path("purelib"),
)


def reason_of(error: BaseException) -> str:
    """The original error without those that wrap it, with its place in the user's code."""
    text = str(error).strip()
    place = ""
    if _TRACEBACK in text:
        text, place = _end_of_traceback(text)
    stripped = True
    while stripped:
        stripped = False
        for wrapped in _WRAPPED:
            shorter = wrapped.sub("", text, count=1)
            stripped = stripped or shorter != text
            text = shorter
    line = _STATE.sub("", text.strip().split("\n", 1)[0]).strip(" ;") or type(error).__name__
    short = line if len(line) <= _LINE else f"{line[:_LINE]}..."
    hints = [hint for name, hint in _HINTS.items() if line.startswith(name)]
    cause = known_cause(str(error))
    if cause is not None:
        hints.append(cause.advice)
    return place + ("; ".join([short.rstrip("."), *hints]) if hints else short)


def _end_of_traceback(text: str) -> tuple[str, str]:
    """The line of the innermost Python traceback that names the error, and the place it names."""
    named = []
    for part in text.split(_TRACEBACK)[1:]:
        lines = [line for line in part.splitlines()[1:] if line.strip() and not line[0].isspace()]
        if lines and not _HIDING.match(lines[0]):
            named.append((lines[0], _place(part[: part.index(f"\n{lines[0]}")])))
    return named[-1] if named else (text, "")


def _place(frames: str) -> str:
    """The innermost frame of the user's code: neither ours nor a library's."""
    places = [
        f"{file}:{line}: "
        for file, line in _FRAME.findall(frames)
        if not file.startswith(_NOT_THE_USERS) and "/pyspark.zip/" not in file
    ]
    return places[-1] if places else ""
