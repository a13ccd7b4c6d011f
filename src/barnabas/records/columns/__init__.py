"""Record batches to Arrow columns and back, without one Python object per record.

Needs pyarrow, which comes with `barnabas[arrow]`: nothing imports this package but who moves
columns. `ColumnDecoder` turns batches into a table, `ColumnEncoder` the rows of a table into
batches, `partitioning` says which row goes to which partition.
"""

try:
    import pyarrow as pa  # noqa: F401 - to say at once what is missing
except ImportError as missing:
    raise ImportError("columns need pyarrow: pip install 'barnabas[arrow]'") from missing
