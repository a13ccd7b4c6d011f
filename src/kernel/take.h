/* The parts of a record as Python's objects, on their way into a batch.
 *
 * Nothing in here runs Python code, so what was looked at once is the same at the second look. What
 * is not of the usual type is declined, by 0 or -1, and an exception may be set or not.
 */
#ifndef BARNABAS_TAKE_H
#define BARNABAS_TAKE_H

#include "kernel.h"
#include "record.h"

/* 0 if the object is neither None nor bytes. */
static inline int take_bytes(PyObject *object, span *bytes)
{
    char *data;
    Py_ssize_t size;

    bytes->data = NULL;
    bytes->size = -1;
    if (object == Py_None)
        return 1;
    if (!PyBytes_CheckExact(object) || PyBytes_AsStringAndSize(object, &data, &size) < 0)
        return 0;
    bytes->data = (const uint8_t *)data;
    bytes->size = size;
    return 1;
}

static inline int take_header(PyObject *headers, Py_ssize_t i, span *key, span *value)
{
    PyObject *pair = PyTuple_Check(headers) ? PyTuple_GetItem(headers, i)
                                            : PyList_GetItem(headers, i);
    PyObject *text;
    Py_ssize_t size = 0;

    if (pair == NULL || !PyTuple_CheckExact(pair) || PyTuple_Size(pair) != 2)
        return 0;
    text = PyTuple_GetItem(pair, 0);
    if (text == NULL || !PyUnicode_CheckExact(text))
        return 0;
    key->data = (const uint8_t *)PyUnicode_AsUTF8AndSize(text, &size);
    key->size = size;
    return key->data != NULL && take_bytes(PyTuple_GetItem(pair, 1), value);
}

/* The size of all headers; -1 if there is something unusual about them. */
static inline int64_t take_headers(PyObject *headers, int64_t *count)
{
    int64_t size = 0;

    if (PyTuple_CheckExact(headers))
        *count = PyTuple_Size(headers);
    else if (PyList_CheckExact(headers))
        *count = PyList_Size(headers);
    else
        return -1;
    for (Py_ssize_t i = 0; i < *count; i++) {
        span key, value;
        if (!take_header(headers, i, &key, &value))
            return -1;
        size += span_size(key) + span_size(value);
        if (size > MAX_PAYLOAD_BYTES)
            return -1;
    }
    return size;
}

/* Write the headers that take_headers has counted; NULL if one is not what it was. */
static inline uint8_t *write_headers(uint8_t *at, PyObject *headers, int64_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        span key, value;
        if (!take_header(headers, i, &key, &value))
            return NULL;
        at = write_span(write_span(at, key), value);
    }
    return at;
}

#endif
