"""What an installed Barnabas must be able to do, with nothing but its own dependencies.

`python tools/smoke.py --compiled` also loads the compiled kernels, `--pure` checks that there are
none. It imports nothing from the repository, so it can be run by any Python that has a wheel.
"""

import importlib.util
import sys
from pathlib import Path

import barnabas
from barnabas.__main__ import main  # noqa: F401 - the command line loads

KERNELS = ("records/_kernel", "spark/decoding/_json_kernel", "formats/arrow/_avro_kernel")


def find_kernel(name: str) -> Path | None:
    return next(Path(barnabas.__file__).parent.glob(f"{name}.*so"), None)


def load_kernel(path: Path) -> None:
    """By its file: the package around the JSON kernel needs PySpark. What does not load raises, and
    is not replaced by Python."""
    spec = importlib.util.spec_from_file_location(path.name.partition(".")[0], path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def check_kernels(arguments: list[str]) -> None:
    for name in KERNELS:
        found = find_kernel(name)
        if "--pure" in arguments and found is not None:
            sys.exit(f"a pure wheel has {found.name}")
        if "--compiled" in arguments:
            if found is None:
                sys.exit(f"the compiled {name} is missing")
            load_kernel(found)


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
    check_kernels(sys.argv[1:])
    round_trip()
    version = sys.version.split()[0]
    print(f"smoke test passed: barnabas {barnabas.__version__}, Python {version}, {sys.platform}")
