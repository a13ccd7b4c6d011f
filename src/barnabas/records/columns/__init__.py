"""Record batches to Arrow columns and back, without one Python object per record.

Needs pyarrow, which comes with `barnabas[arrow]`; only users of columns import this package.
`ColumnDecoder` turns batches into a table, `ColumnEncoder` the rows of a table into batches, and
`partitioning` decides which row goes to which partition.
"""

try:
    import pyarrow as pa  # noqa: F401 - to say at once what is missing
except ImportError as missing:
    raise ImportError("columns need pyarrow: pip install 'barnabas[arrow]'") from missing
