"""What the exit code of a command says."""

OK = 0
FAILURE = 1
USAGE = 2
UNREACHABLE = 3
INTERRUPTED = 130
TERMINATED = 143

EXPLANATION = (
    "Exit codes: 0 done; 1 failed, also in part; 2 wrong usage or settings; "
    "3 no broker can be reached; 130 interrupted (Ctrl-C); 143 terminated."
)
