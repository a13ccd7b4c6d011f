"""Batches of encoded values as Arrow columns, without a Python object for each record.

    decoder = RegisteredAvroDecoder.of(Order, "http://localhost:8081")

registered_avro  Avro with the ids of registered schemas
avro_decoder    a batch of values, which may be written with different schemas
avro_columns    which columns the values of an Avro schema have
avro_program    values of one schema into the columns of another, as a program
avro_kernel     runs programs in C, where it was compiled
avro_values     runs programs in Python, and says why a value can't be read
avro_encoder    columns as Avro values
avro_schema     the schema of columns
kernel_columns  columns as the compiled kernels take and give them
decoded         what is made of a batch
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.formats.arrow.registered_avro import RegisteredAvroDecoder

__all__ = ["RegisteredAvroDecoder"]

if not TYPE_CHECKING:  # loaded by those who use it: it needs pyarrow

    def __getattr__(name: str) -> Any:
        if name != "RegisteredAvroDecoder":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from barnabas.formats.arrow.registered_avro import RegisteredAvroDecoder

        return RegisteredAvroDecoder
