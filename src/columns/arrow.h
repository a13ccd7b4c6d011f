/* Columns to Python, and from there.
 *
 * A spec is a tuple (kind, flags, precision, scale, name, children), and `children` a tuple of such;
 * flags: 1 the column is built, 2 it is required. Depth is bounded by MAX_SCHEMA_DEPTH.
 *
 * What a kernel gives is a list of (length, nulls, valid, ends, data) for each node that is built,
 * parents first; a buffer that there is no need of is None. Buffers are objects of the type Memory,
 * which Arrow keeps.
 */
#ifndef BARNABAS_ARROW_H
#define BARNABAS_ARROW_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "columns.h"

extern PyType_Spec memory_spec;

node *node_of(PyObject *spec); /* NULL with an exception */

/* The memory of the columns changes its owner. 0 with an exception. */
int add_columns(PyObject *memory_type, node *n, PyObject *list);

/* A buffer, of at least so many bytes; None is empty. 0 with an exception. */
int view_of(PyObject *object, Py_buffer *view, int64_t least);

#endif
