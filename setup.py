"""The compiled kernels: of records, of JSON for Spark, and of Avro.

The rest stands in pyproject.toml.

They are optional: without a C compiler the installation goes through, and Python does the same
work. They keep to the stable ABI, so one build serves all versions of Python from 3.11 on;
free-threaded Pythons have no such ABI, and get a separate build. `BARNABAS_PURE=1` leaves the
kernels out: that wheel serves machines for which there is no other.
"""

import os
import sysconfig

from setuptools import Extension, setup

PURE = os.environ.get("BARNABAS_PURE") == "1"
STABLE_ABI = not PURE and not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[]
    if PURE
    else [
        Extension(
            "barnabas.records._kernel",
            sources=[
                "src/kernel/check_records.c",
                "src/kernel/decode_columns.c",
                "src/kernel/decode_rows.c",
                "src/kernel/encode_columns.c",
                "src/kernel/encode_rows.c",
                "src/kernel/module.c",
                "src/kernel/murmur2.c",
                "src/kernel/receipt.c",
                "src/kernel/row_packer.c",
            ],
            depends=[
                "src/kernel_headers/add_type.h",
                "src/kernel_headers/utf8.h",
                "src/kernel/kernel.h",
                "src/kernel/receipt.h",
                "src/kernel/record.h",
                "src/kernel/take.h",
                "src/kernel/type_number.h",
                "src/kernel/varint.h",
            ],
            extra_compile_args=["-O3", "-std=c11", "-Wall", "-Wextra"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE_ABI else [],
            py_limited_api=STABLE_ABI,
            optional=True,
        ),
        Extension(
            "barnabas.spark.decoding._json_kernel",
            sources=[
                "src/columns/arrow.c",
                "src/columns/columns.c",
                "src/json_kernel/convert.c",
                "src/json_kernel/module.c",
                "src/json_kernel/numbers.c",
                "src/json_kernel/rewrite.c",
                "src/json_kernel/scan.c",
                "src/json_kernel/times.c",
            ],
            depends=[
                "src/kernel_headers/add_type.h",
                "src/kernel_headers/utf8.h",
                "src/columns/arrow.h",
                "src/columns/columns.h",
                "src/json_kernel/convert.h",
                "src/json_kernel/scan.h",
            ],
            extra_compile_args=["-O3", "-std=c11", "-Wall", "-Wextra"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE_ABI else [],
            py_limited_api=STABLE_ABI,
            optional=True,
        ),
        Extension(
            "barnabas.formats.arrow._avro_kernel",
            sources=[
                "src/avro_kernel/module.c",
                "src/avro_kernel/program.c",
                "src/columns/arrow.c",
                "src/columns/columns.c",
            ],
            depends=[
                "src/avro_kernel/program.h",
                "src/columns/arrow.h",
                "src/columns/columns.h",
                "src/kernel_headers/add_type.h",
                "src/kernel_headers/utf8.h",
            ],
            extra_compile_args=["-O3", "-std=c11", "-Wall", "-Wextra"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE_ABI else [],
            py_limited_api=STABLE_ABI,
            optional=True,
        ),
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE_ABI else {},
)
