"""The most memory that a process has had."""

from pathlib import Path


def forget_peak(pid: int) -> None:
    """Let the peak begin now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def peak(pid: int) -> int:
    """Bytes of memory at the peak."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
