"""The examples do what they say, against a real broker."""

import re
import subprocess
import sys
from pathlib import Path

from tests.support.broker import BrokerProcess

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_hello(broker: BrokerProcess) -> None:
    assert run("hello.py", broker.bootstrap) == (
        "stored in greetings-0 at offset 0\nread 'hello, world'\n"
    )


def test_work_queue(broker: BrokerProcess) -> None:
    output = run("work_queue.py", broker.bootstrap, "500", "2")
    shares = [int(count) for count in re.findall(r"worker-\d did (\d+) jobs", output)]
    assert len(shares) == 2
    assert all(shares), output
    assert output.endswith("500 of 500 jobs done, 0 of them twice\n")


def test_exactly_once(broker: BrokerProcess) -> None:
    output = run("exactly_once.py", broker.bootstrap, "250")
    assert re.fullmatch(
        "rolled back: lp0 on fire\n"
        r"250 orders worked on, in \d+ transactions\n"
        "250 invoices, 0 of them twice\n",
        output,
    ), output
