"""kill -9 of a process that appends: what it had acknowledged is there."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

from barnabas.log import Log, LogConfig, OsDisk
from tests.log.batches import batch, values

CONFIG = LogConfig(segment_bytes=20_000)
SCRIPT = """
    import sys
    from barnabas.log import Log, LogConfig, OsDisk
    from tests.log.batches import batch

    log = Log.open(OsDisk(), sys.argv[1], LogConfig(segment_bytes=20_000), 0)
    sequence = log.log_end_offset
    while True:
        rows = [(sequence, None, b"%d" % sequence * 10)]
        made = batch(rows, producer_id=9, producer_epoch=0, base_sequence=sequence)
        log.append(*made, 0, 0)
        sys.stdout.write(f"{sequence}\\n")
        sys.stdout.flush()
        sequence += 1
"""


def test_everything_acknowledged_is_there_and_known(tmp_path: Path) -> None:
    path = f"{tmp_path}/t-0"
    acknowledged = -1
    for wanted in (100, 700, 1000):
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(SCRIPT), path],
            cwd=Path(__file__).parents[3],
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                acknowledged = int(line)
                if acknowledged >= wanted:
                    process.send_signal(signal.SIGKILL)
                    break
            rest = process.stdout.read().splitlines()
            if rest and rest[-1].isdigit():
                acknowledged = max(acknowledged, int(rest[-1]))
        log = Log.open(OsDisk(), path, CONFIG, 0)
        stored = values(log)
        assert len(stored) > acknowledged
        assert stored == [b"%d" % number * 10 for number in range(len(stored))]
        last = len(stored) - 1
        rows = [(last, None, b"%d" % last * 10)]
        again = batch(rows, producer_id=9, producer_epoch=0, base_sequence=last)
        found = log.producer_state.find_duplicate(again[1][0][1])
        assert found is not None
        assert found.base_offset == last
        log.abandon()
