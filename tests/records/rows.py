"""Random records."""

from hypothesis import strategies as st

BLOB = st.none() | st.binary(max_size=20) | st.binary(min_size=60, max_size=200)
ROW = st.tuples(
    st.integers(0, 2**45) | st.just(-1),
    BLOB,
    BLOB,
    st.lists(st.tuples(st.text(max_size=8), BLOB), max_size=3).map(tuple),
)
ROWS = st.lists(ROW, min_size=1, max_size=20)
