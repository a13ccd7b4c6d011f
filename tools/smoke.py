"""What an installed Barnabas must be able to do, with nothing but its own dependencies.

`python tools/smoke.py --compiled` also checks that the kernels are compiled, `--pure` that they are
not. It imports nothing from the repository, so it can be run by any Python that has a wheel.
"""

import importlib.util
import sys

import barnabas
from barnabas.__main__ import main  # noqa: F401 - the command line loads


def check_kernel(arguments: list[str]) -> None:
    has_kernel = importlib.util.find_spec("barnabas.records._kernel") is not None
    if "--compiled" in arguments and not has_kernel:
        sys.exit("the compiled kernel is missing")
    if "--pure" in arguments and has_kernel:
        sys.exit("a pure wheel has a compiled kernel")


def round_trip() -> None:
    """Through a real broker, with each compression."""
    with barnabas.Cluster() as cluster:
        servers = cluster.bootstrap_servers
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            topic = f"smoke-{codec}"
            with barnabas.Producer(servers, compression=codec) as producer:
                for number in range(100):
                    producer.send(topic, b"%d" % number, key=b"k")
            with barnabas.Consumer(servers, topic) as consumer:
                records = iter(consumer)
                assert [next(records).value for _ in range(100)] == [b"%d" % n for n in range(100)]


if __name__ == "__main__":
    check_kernel(sys.argv[1:])
    round_trip()
    version = sys.version.split()[0]
    print(f"smoke test passed: barnabas {barnabas.__version__}, Python {version}, {sys.platform}")
