"""`barnabas server` and `barnabas log dump`: from settings to files on disk."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.embedded.ports import Ports
from barnabas.records.batch import HEADER_SIZE, batch_size, patch_crc
from tests.cli.conftest import Cli, interrupt
from tests.support import fork_server
from tests.support.wait import LIMIT_S, wait_until


class Server:
    """`barnabas server` as a process; its first line says where it listens."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str, **environment: str) -> str:
        """Start one and return its address."""
        kept = {name: v for name, v in os.environ.items() if not name.startswith("BARNABAS_")}
        process = fork_server.Popen(
            [sys.executable, "-m", "barnabas", "server", *arguments],
            cwd=self.directory,
            env={**kept, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.processes.append(process)
        assert process.stdout is not None
        seen = b""
        for line in process.stdout:
            seen += line
            ready = re.search(rb"ready on (\S+:\d+)", line)
            if ready:
                return ready[1].decode()
        raise AssertionError(seen.decode())

    def stop(self, number: int = signal.SIGTERM) -> int:
        process = self.processes.pop()
        process.send_signal(number)
        process.communicate(timeout=LIMIT_S)
        return process.returncode


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    for process in running.processes:
        process.kill()
        process.communicate()


def configs(address: str) -> dict[str, str]:
    rows = Cli(address).json("configs", "get", "broker", "--all")
    return {row["name"]: row["value"] for row in rows}


def test_settings_come_from_four_places_and_the_later_wins(server: Server, tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text(
        "# a comment\nnum.partitions = 2\nnode.id: 7\n\nfetch.max.bytes=2000\nlog.dirs=nowhere\n"
    )
    address = server.start(
        *("--listen", "127.0.0.1:0", "--data", "data", "--config", "server.properties"),
        *("--set", "num.partitions=4"),
        BARNABAS_NUM_PARTITIONS="3",
        BARNABAS_FETCH_MAX_BYTES="3000",
    )
    found = configs(address)
    assert found["num.partitions"] == "4"
    assert found["fetch.max.bytes"] == "3000"
    assert found["node.id"] == "7"
    assert (tmp_path / "data").is_dir()
    assert not (tmp_path / "nowhere").exists()
    assert server.stop() == 0


@pytest.mark.parametrize("arguments", [(), ("--nodes", "1")], ids=["node", "supervisor"])
@pytest.mark.long
def test_output_without_room_neither_ends_a_server_nor_spoils_its_exit_code(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    with contextlib.closing(Ports(1)) as ports, Path("/dev/full").open("wb") as full:
        address = f"127.0.0.1:{ports.numbers[0]}"
        process = subprocess.Popen(
            [sys.executable, "-m", "barnabas", "server", "--listen", address, *arguments],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=full,
        )
        try:
            wait_until(
                lambda: Cli(address).run("cluster", "status").returncode == 0,
                "the server does not serve",
            )
            process.send_signal(signal.SIGTERM)
            assert process.wait(LIMIT_S) == 0
        finally:
            process.kill()
            process.wait()


def test_a_mistyped_variable_is_warned_about(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "barnabas", "server", "--set", "nonsense=1"],
        cwd=tmp_path,
        env={**os.environ, "BARNABAS_NUM_PARTITION": "3"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.stderr.startswith("warning: ignored BARNABAS_NUM_PARTITION:")
    assert "did you mean 'num.partitions'?" in done.stderr.splitlines()[0]


def test_the_default_directory_and_the_advertised_address(server: Server, tmp_path: Path) -> None:
    address = server.start("--listen", "127.0.0.1:0", "--id", "3", "--advertise", "127.0.0.1:1")
    assert (tmp_path / "barnabas-data").is_dir()
    error = Cli(address).fails(3, "topics", "describe")
    assert "broker 3 says it is at 127.0.0.1:1" in error
    assert "--advertise" in error
    assert server.stop(signal.SIGINT) == 0


@pytest.mark.long
def test_a_command_says_what_it_waits_for(server: Server) -> None:
    address = server.start("--listen", "127.0.0.1:0")
    Cli(address).ok("topics", "create", "t")
    server.stop()
    address = server.start("--listen", "127.0.0.1:0", "--advertise", "127.0.0.1:1")
    cli = Cli(address)
    process = cli.start("consume", "t")
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith(b"still waiting: broker 1 says it is at 127.0.0.1:1")
    assert interrupt(process)[::2] == (130, b"")
    cli.end()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "no.such.setting=1"], "no.such.setting"),
        (["--set", "num.partition=1"], "did you mean 'num.partitions'?"),
        (["--set", "num.partitions=x"], "num.partitions"),
        (["--set", "nonsense"], "NAME=VALUE"),
        (["--listen", "nonsense:x"], "nonsense:x"),
        (["--data", ""], "log.dirs"),
        (["--config", "missing.properties"], "missing.properties"),
        (["--config", "bad.properties"], "bad.properties, line 2"),
    ],
)
def test_settings_that_cannot_be_have_exit_code_2(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "bad.properties").write_text("node.id=1\nnonsense\n")
    done = subprocess.run(
        [sys.executable, "-m", "barnabas", "server", "--listen", "127.0.0.1:0", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_settings_are_checked_without_a_start(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("node.id=1\nnum.io.threads=8\nlog.cleaner.enable=true\n")
    command = [sys.executable, "-m", "barnabas", "server", "--config", str(file), "--check"]
    done = fork_server.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "log.cleaner.enable has no effect: compaction is always on",
        "num.io.threads has no effect: a node is one process with one event loop",
        "a node can start with these settings",
    ]
    file.write_text("num.io.threads=8\nlog.cleaner.enable=false\nconfig.providers=x\n")
    done = fork_server.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout.startswith("num.io.threads has no effect")
    assert "2 settings can't be used:" in done.stderr
    assert "log.cleaner.enable must be true" in done.stderr
    assert "config.providers is not supported" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["server.properties"]


def test_a_second_broker_on_the_same_directory_or_port_is_refused(
    server: Server, tmp_path: Path
) -> None:
    address = server.start("--listen", "127.0.0.1:0", "--data", "data")
    for arguments in (
        ["--listen", "127.0.0.1:0", "--data", "data"],
        ["--listen", address, "--data", "other"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "barnabas", "server", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_segment_file_can_be_looked_into(server: Server, tmp_path: Path) -> None:
    cli = Cli(server.start("--listen", "127.0.0.1:0", "--data", "data"))
    cli.ok("topics", "create", "t")
    cli.ok("produce", "t", "--key-separator", ":", "--header", "h=1", stdin="a:1\nb:2\n")
    cli.ok("produce", "t", "--compression", "zstd", stdin="3\n")
    assert server.stop() == 0
    (segment,) = (tmp_path / "data" / "t-0").glob("*.log")
    batches = cli.ok("log", "dump", str(segment)).splitlines()
    assert len(batches) == 2
    assert batches[0].startswith("position 0 offsets 0-1 records 2 ")
    assert "compression zstd" in batches[1]
    lines = cli.ok("log", "dump", str(segment), "--records", "--json").splitlines()
    first, second = (json.loads(line) for line in lines)
    assert [(each["key"], each["value"]) for each in first["records"]] == [("a", "1"), ("b", "2")]
    assert first["records"][0]["headers"] == [["h", "1"]]
    assert second["base_offset"] == second["records"][0]["offset"] == 2

    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data + b"garbage")
    done = cli.run("log", "dump", str(segment))
    assert done.returncode == 1
    assert b"DAMAGED" in done.stdout
    assert b"is damaged" in done.stderr
    assert "No such file" in cli.fails(1, "log", "dump", str(tmp_path / "missing.log"))


@pytest.mark.long
def test_a_batch_that_cannot_be_read_is_taken_out(server: Server, tmp_path: Path) -> None:
    cli = Cli(server.start("--listen", "127.0.0.1:0", "--data", "data"))
    cli.ok("topics", "create", "t")
    for line in ("one", "two", "three"):
        cli.ok("produce", "t", stdin=f"{line}\n")
    data = tmp_path / "data"
    refused = cli.fails(1, "log", "repair", str(data))
    assert "is in use by process" in refused
    assert "stop that server first" in refused
    assert server.stop() == 0
    assert cli.run("log", "repair", str(data)).returncode == 0

    (segment,) = (data / "t-0").glob("*.log")
    stored = bytearray(segment.read_bytes())
    size = batch_size(stored)
    second = bytearray(stored[size : size + batch_size(stored, size)])
    second[HEADER_SIZE:] = b"\xff" * (len(second) - HEADER_SIZE)
    patch_crc(second)
    stored[size : size + len(second)] = second
    segment.write_bytes(stored)

    cli = Cli(server.start("--listen", "127.0.0.1:0", "--data", "data"))
    failed = cli.fails(1, "consume", "t", "--from-beginning", "--no-follow")
    assert "partition t-0: the batch at offset 1 is damaged" in failed
    assert "continue at offset 2" in failed
    assert "barnabas log repair" in failed
    skipped = cli.ok("consume", "t", "--partition", "0", "--offset", "2", "--no-follow")
    assert skipped.splitlines() == ["three"]
    assert server.stop() == 0

    looked = cli.run("log", "repair", str(data))
    assert looked.returncode == 1
    assert b"position" in looked.stdout
    assert b"offsets 1-1" in looked.stdout
    assert b"nothing was changed" in looked.stderr
    assert segment.read_bytes() == stored
    assert "no partition 'u-0'" in cli.fails(2, "log", "repair", str(data), "--partition", "u-0")
    done = cli.ok("log", "repair", str(data), "--partition", "t-0", "--execute", "--json")
    repaired = json.loads(done)
    assert Path(repaired["copied_to"]).read_bytes() == second
    assert "not a data directory" in cli.fails(1, "log", "repair", str(tmp_path))

    cli = Cli(server.start("--listen", "127.0.0.1:0", "--data", "data"))
    lines = cli.ok("consume", "t", "--from-beginning", "--no-follow").splitlines()
    assert lines == ["one", "three"]
    cli.ok("produce", "t", stdin="four\n")
    lines = cli.ok("consume", "t", "--from-beginning", "--no-follow").splitlines()
    assert lines == ["one", "three", "four"]


@pytest.mark.long
def test_records_that_are_gone_are_missed_until_somebody_accepts_it(
    server: Server, tmp_path: Path
) -> None:
    cli = Cli(server.start("--listen", "127.0.0.1:0", "--data", "data"))
    cli.ok("topics", "create", "t", "--partitions", "1")
    for line in ("one", "two", "three"):
        cli.ok("produce", "t", stdin=f"{line}\n")
    assert server.stop() == 0
    data = tmp_path / "data"
    (segment,) = (data / "t-0").glob("*.log")
    stored = segment.read_bytes()
    second = batch_size(stored)
    segment.write_bytes(stored[: second + batch_size(stored, second)])

    cli = Cli(server.start("--listen", "127.0.0.1:0", "--data", "data"))
    failed = cli.run("consume", "t", "--from-beginning", "--no-follow")
    assert failed.stdout.splitlines() == [b"one", b"two"]
    assert failed.returncode != 0
    assert b"CORRUPT_MESSAGE" in failed.stderr
    assert server.stop() == 0

    looked = cli.run("log", "repair", str(data), "--accept-loss")
    assert looked.returncode == 1
    assert b"t-0: has lost offsets 2 to 2" in looked.stdout
    done = cli.ok("log", "repair", str(data), "--accept-loss", "--execute")
    assert "t-0: accepted the loss of offsets 2 to 2" in done
    assert cli.run("log", "repair", str(data)).returncode == 0

    cli = Cli(server.start("--listen", "127.0.0.1:0", "--data", "data"))
    cli.ok("produce", "t", stdin="four\n")
    lines = cli.ok("consume", "t", "--from-beginning", "--no-follow").splitlines()
    assert lines == ["one", "two", "four"]
