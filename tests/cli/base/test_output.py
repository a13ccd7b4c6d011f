"""Numbers as people read them."""

import pytest

from barnabas.quantities import human_size


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (2_000_000_000_000, "2.0 TB")]
)
def test_sizes(size: int, text: str) -> None:
    assert human_size(size) == text
