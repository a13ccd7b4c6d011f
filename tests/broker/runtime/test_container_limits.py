"""Limits of containers, read from folders that look like control groups."""

from pathlib import Path

import pytest

from barnabas.broker.runtime.container_limits import ContainerLimits, container_limits

MB = 1 << 20


def groups(root: Path, files: dict[str, str], own: str = "0::/\n") -> ContainerLimits:
    for name, text in files.items():
        path = root / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (root / "own").write_text(own)
    return container_limits(root / "cgroup", root / "own")


def test_version_2(tmp_path: Path) -> None:
    files = {"memory.max": str(512 * MB), "cpu.max": "150000 100000"}
    assert groups(tmp_path, files) == (512 * MB, 1.5)


def test_version_2_without_limits(tmp_path: Path) -> None:
    assert groups(tmp_path, {"memory.max": "max", "cpu.max": "max 100000"}) == (None, None)


def test_version_1(tmp_path: Path) -> None:
    files = {
        "memory/docker/x/memory.limit_in_bytes": str(256 * MB),
        "memory/memory.limit_in_bytes": "9223372036854771712",
        "cpu,cpuacct/docker/x/cpu.cfs_quota_us": "50000",
        "cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000",
        "cpu,cpuacct/cpu.cfs_quota_us": "-1",
        "cpu,cpuacct/cpu.cfs_period_us": "100000",
    }
    own = "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/docker/x\n"
    assert groups(tmp_path, files, own) == (256 * MB, 0.5)


def test_the_lowest_limit_of_all_groups_above_counts(tmp_path: Path) -> None:
    files = {
        "system.slice/memory.max": str(300 * MB),
        "system.slice/barnabas.service/memory.max": str(900 * MB),
        "system.slice/barnabas.service/memory.high": str(800 * MB),
    }
    assert groups(tmp_path, files, "0::/system.slice/barnabas.service\n").memory_bytes == 300 * MB


@pytest.mark.parametrize("own", ["", "0::/../../other\n", "nonsense\n"])
def test_a_group_that_can_not_be_seen(tmp_path: Path, own: str) -> None:
    assert groups(tmp_path, {"memory.max": str(MB)}, own).memory_bytes == MB


def test_no_control_groups_at_all(tmp_path: Path) -> None:
    assert container_limits(tmp_path / "none", tmp_path / "none") == (None, None)
