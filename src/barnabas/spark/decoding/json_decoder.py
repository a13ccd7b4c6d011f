"""JSON objects as columns."""

from datetime import UTC

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import StructType

from barnabas.spark.decoding import json_kernel
from barnabas.spark.decoding.decoded import Decoded
from barnabas.spark.decoding.decoding import Decoding
from barnabas.spark.decoding.json_conversion import UnsupportedType, converter_of
from barnabas.spark.decoding.json_kernel import KernelDecoder
from barnabas.spark.decoding.json_rows import JsonRows
from barnabas.spark.decoding.row_columns import columns_of
from barnabas.spark.decoding.time_zones import clock_offsets, time_zone


class JsonDecoder:
    """Decodes values as `from_json` would; an object must be all that there is.

    The kernel decodes the usual ones, and Python the others. Without the kernel all are unusual.
    """

    def __init__(self, decoding: Decoding) -> None:
        zone = time_zone(decoding.time_zone)
        if zone is None:
            raise ValueError(f"unknown time zone {decoding.time_zone!r}")
        self._decoding = decoding
        self._rows = JsonRows(decoding.fields, zone)
        compiled = json_kernel.kernel
        self._kernel = (
            None if compiled is None else KernelDecoder(compiled, decoding, clock_offsets(zone))
        )

    def decode(self, values: pa.BinaryArray) -> Decoded:
        if self._kernel is None:
            return self._decode_unusual(values, np.arange(len(values)))
        usual = self._kernel.decode(values)
        unusual = np.flatnonzero(usual.is_unusual)
        if not len(unusual):
            return Decoded(usual.columns, (), ())
        found = self._decode_unusual(values, unusual)
        if len(found.dead) == len(unusual):
            return found._replace(columns=usual.columns)
        # Rows come in the order of their values.
        rows = np.concatenate(
            [np.flatnonzero(~usual.is_unusual), np.setdiff1d(unusual, found.dead)]
        )
        order = pa.array(np.argsort(rows))
        both = zip(usual.columns, found.columns, strict=True)
        columns = [pa.concat_arrays([one, other]).take(order) for one, other in both]
        return found._replace(columns=columns)

    def _decode_unusual(self, values: pa.BinaryArray, positions: npt.NDArray[np.int64]) -> Decoded:
        rows, dead, reasons = [], [], []
        for position in positions.tolist():
            row = self._rows.row(values[position].as_py())
            if row.reason is None:
                rows.append(row.columns)
            else:
                dead.append(position)
                reasons.append(row.reason)
        return Decoded(columns_of(rows, self._decoding), dead, reasons)


def unsupported_columns(fields: StructType) -> list[str]:
    """Columns whose type only Spark itself can decode."""
    found = []
    for each in fields.fields:
        try:
            converter_of(each.dataType, UTC)
        except UnsupportedType:
            found.append(each.name)
    return found
