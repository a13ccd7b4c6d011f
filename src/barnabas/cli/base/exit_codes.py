"""The exit codes of commands."""

OK = 0
FAILURE = 1
USAGE = 2
UNREACHABLE = 3
WARNINGS = 4
INTERRUPTED = 130
TERMINATED = 143

EXPLANATION = (
    "Exit codes: 0 success; 1 failure, also partial; 2 invalid usage or settings; "
    "3 no broker is reachable; 4 warnings only (cluster doctor); "
    "130 interrupted (Ctrl-C); 143 terminated."
)
