/* The compiled half of barnabas.records: what has to be done once for every record.
 *
 * Everything here has a counterpart in Python that gives the same results, and that is used where
 * this was not compiled. barnabas/records/kernel.py describes each function to Python.
 *
 * Only the stable ABI of Python 3.11 is used, so one build serves all later versions.
 *
 * Rule for reading: bytes from outside are read once, into a local variable, and compared with the
 * bytes that are really there before anything is done with them. A buffer that somebody changes
 * meanwhile then gives nonsense at worst, never a read or a write beyond its end.
 */
#ifndef BARNABAS_KERNEL_H
#define BARNABAS_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* Goes up whenever a function changes what it takes or gives, together with INTERFACE in
 * barnabas/records/kernel.py: a stale build is then ignored instead of called. */
#define INTERFACE 4

/* What batch_length, an int32, leaves for the records; sizes of records never come near overflow. */
#define MAX_PAYLOAD_BYTES (INT32_MAX - 61)

/* The timestamp of a record that has none. */
#define NO_TIMESTAMP (-1)

PyObject *check_records(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *find_records(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *decode_rows(PyObject *module, PyObject *args);
PyObject *decode_messages(PyObject *module, PyObject *args);
PyObject *encode_rows(PyObject *module, PyObject *args);
PyObject *decode_columns(PyObject *module, PyObject *args);
PyObject *encode_columns(PyObject *module, PyObject *args);
PyObject *murmur2(PyObject *module, PyObject *args);
PyObject *partition_for_key(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *partition_column(PyObject *module, PyObject *args);

extern PyType_Spec receipt_spec;
extern PyType_Spec row_packer_spec;

#endif
