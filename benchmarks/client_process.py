"""One run of one client in a process of its own: `client_process LIBRARY WORK BOOTSTRAP …`.

It prints the seconds that it took on the clock and of CPU, of all its threads.
"""

import sys
from importlib import import_module

from benchmarks.libraries.run import Run


def main() -> None:
    library, work, bootstrap, topic, size, count = sys.argv[1:]
    run = Run(bootstrap, topic, int(size), int(count))
    import_module(f"benchmarks.libraries.{library}").WORK[work](run)
    print(run.seconds, run.cpu_s)


if __name__ == "__main__":
    main()
