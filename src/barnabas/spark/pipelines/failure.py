"""What went wrong in a query, in a line.

Spark wraps errors of tasks and of Python code in several of its own, each with a stack trace.
"""

import re

_WRAPPED = (
    re.compile(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ", re.DOTALL),
    re.compile(r"^Job aborted due to stage failure: "),
    re.compile(r"^Task \d+ in stage [\d.]+ failed \d+ times?, most recent failure: "),
    re.compile(r"^Lost task [\d.]+ in stage [\d.]+ \(TID \d+\) \(.*?\): "),
    re.compile(r"^(?:[a-z]\w*\.)+(?=[A-Z]\w*: )"),
    re.compile(r"^(?:SparkRuntimeException: )?\[USER_RAISED_EXCEPTION\] "),
)
_STATE = re.compile(r"(?:\s*SQLSTATE: \w+;?)+")
_HINTS = {
    "[STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION]": (
        "give the source a watermark and count by windows of that time, or set output_mode to "
        '"update"'
    ),
}
# PySpark hides errors of a source that can't be made behind one of its own.
_HIDING = re.compile(r"^UnboundLocalError: .*'reader'")
_LINE = 300


def reason_of(error: BaseException) -> str:
    """The error that was first, without those around it."""
    text = str(error).strip()
    if "Traceback (most recent call last)" in text:
        text = _end_of_traceback(text)
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
    return "; ".join([short.rstrip("."), *hints]) if hints else short


def _end_of_traceback(text: str) -> str:
    """The line of the innermost Python traceback that names the error."""
    named = []
    for part in text.split("Traceback (most recent call last)")[1:]:
        lines = [line for line in part.splitlines()[1:] if line.strip() and not line[0].isspace()]
        if lines and not _HIDING.match(lines[0]):
            named.append(lines[0])
    return named[-1] if named else text
