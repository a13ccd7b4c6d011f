/* The records of a batch as Python objects, for the ordinary client.
 *
 * decode_rows(record_type, payload, record_count, base_offset, base_timestamp, append_time | None)
 *     -> list | None
 *
 * None if a record is not well-formed, or an offset or timestamp outside 64 bits: Python then reads
 * the batch in its own way, and says what is wrong.
 */
#include "kernel.h"
#include "record.h"

static PyObject *bytes_or_none(span bytes)
{
    if (bytes.size < 0) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    return PyBytes_FromStringAndSize((const char *)bytes.data, (Py_ssize_t)bytes.size);
}

/* A tuple of (str, bytes | None); NULL with an exception, or without one if the bytes have changed
 * since they were checked. */
static PyObject *headers_tuple(const record *r)
{
    const uint8_t *at = r->headers;
    PyObject *headers = PyTuple_New((Py_ssize_t)r->header_count);

    if (headers == NULL)
        return NULL;
    for (int64_t i = 0; i < r->header_count; i++) {
        span key, value;
        PyObject *pair, *text, *bytes;
        if (!read_header(&at, r->end, &key, &value)) {
            Py_DECREF(headers);
            return NULL;
        }
        pair = PyTuple_New(2);
        text = PyUnicode_DecodeUTF8((const char *)key.data, (Py_ssize_t)key.size, "replace");
        bytes = bytes_or_none(value);
        if (pair == NULL || text == NULL || bytes == NULL) {
            Py_XDECREF(pair);
            Py_XDECREF(text);
            Py_XDECREF(bytes);
            Py_DECREF(headers);
            return NULL;
        }
        PyTuple_SetItem(pair, 0, text);
        PyTuple_SetItem(pair, 1, bytes);
        PyTuple_SetItem(headers, (Py_ssize_t)i, pair);
    }
    return headers;
}

/* What all records of a batch share. */
typedef struct {
    PyTypeObject *type;
    allocfunc allocate;
    int64_t base_offset;
    int64_t base_timestamp;
    PyObject *timestamp; /* of the record before: most follow each other in the same millisecond */
    int64_t timestamp_delta;
    int is_append_time;
} batch_context;

static PyObject *timestamp_of(batch_context *batch, int64_t delta)
{
    if (batch->timestamp == NULL || (!batch->is_append_time && batch->timestamp_delta != delta)) {
        int64_t timestamp;
        PyObject *object;
        if (__builtin_add_overflow(batch->base_timestamp, delta, &timestamp))
            return NULL;
        object = PyLong_FromLongLong(timestamp);
        if (object == NULL)
            return NULL;
        Py_XDECREF(batch->timestamp);
        batch->timestamp = object;
        batch->timestamp_delta = delta;
    }
    Py_INCREF(batch->timestamp);
    return batch->timestamp;
}

static PyObject *record_object(batch_context *batch, const record *r)
{
    PyObject *fields[5] = {NULL};
    PyObject *object = NULL;
    int64_t offset;

    if (__builtin_add_overflow(batch->base_offset, r->offset_delta, &offset))
        return NULL;
    if ((fields[0] = timestamp_of(batch, r->timestamp_delta)) != NULL &&
        (fields[1] = bytes_or_none(r->key)) != NULL &&
        (fields[2] = bytes_or_none(r->value)) != NULL &&
        (fields[3] = headers_tuple(r)) != NULL &&
        (fields[4] = PyLong_FromLongLong(offset)) != NULL)
        object = batch->allocate(batch->type, 5);
    for (Py_ssize_t i = 0; i < 5; i++) {
        if (object != NULL)
            PyTuple_SetItem(object, i, fields[i]);
        else
            Py_XDECREF(fields[i]);
    }
    return object;
}

PyObject *decode_rows(PyObject *module, PyObject *args)
{
    PyObject *type, *append_time, *records = NULL;
    Py_buffer payload;
    long long count, base_offset, base_timestamp;
    const uint8_t *at, *end;
    int done = 0;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!y*LLLO:decode_rows", &PyType_Type, &type, &payload, &count,
                          &base_offset, &base_timestamp, &append_time))
        return NULL;
    batch_context batch = {
        .type = (PyTypeObject *)type,
        .allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc),
        .base_offset = base_offset,
        .base_timestamp = base_timestamp,
        .is_append_time = append_time != Py_None,
    };
    if (!PyType_IsSubtype(batch.type, &PyTuple_Type) || batch.allocate == NULL) {
        PyErr_SetString(PyExc_TypeError, "records are tuples");
        goto out;
    }
    if (batch.is_append_time) {
        Py_INCREF(append_time);
        batch.timestamp = append_time;
    }
    if (count < 0 || count > payload.len / MIN_RECORD_SIZE)
        goto out;
    records = PyList_New((Py_ssize_t)count);
    if (records == NULL)
        goto out;
    at = payload.buf;
    end = at + payload.len;
    for (long long i = 0; i < count; i++) {
        record r;
        PyObject *object;
        if (!read_record(&at, end, &r))
            goto out;
        object = record_object(&batch, &r);
        if (object == NULL)
            goto out;
        PyList_SetItem(records, (Py_ssize_t)i, object);
    }
    done = at == end;
out:
    Py_XDECREF(batch.timestamp);
    PyBuffer_Release(&payload);
    if (done)
        return records;
    Py_XDECREF(records);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}
