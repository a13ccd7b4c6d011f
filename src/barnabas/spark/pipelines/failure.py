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
_STATE = re.compile(r"(?:\s*SQLSTATE: \w+)+\s*$")
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
    line = _STATE.sub("", text.strip().split("\n", 1)[0]).strip() or type(error).__name__
    return line if len(line) <= _LINE else f"{line[:_LINE]}..."


def _end_of_traceback(text: str) -> str:
    """The line of the innermost Python traceback that names the error."""
    lines = text[text.rindex("Traceback (most recent call last)") :].splitlines()[1:]
    for line in lines:
        if line.strip() and not line[0].isspace():
            return line
    return text
