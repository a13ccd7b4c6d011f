/* What stands for one record of an open batch, as barnabas/client/producer/row_packer.py describes it. */
#ifndef BARNABAS_RECEIPT_H
#define BARNABAS_RECEIPT_H

#include "kernel.h"

typedef struct {
    PyObject_HEAD
    PyObject *batch;
    int64_t timestamp_ms;
    Py_ssize_t index;
} receipt;

/* Whether instances of this type are receipts, with nothing added; an exception may be set. */
int is_receipt_type(PyTypeObject *type);

#endif
