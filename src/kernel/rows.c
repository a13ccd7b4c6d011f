/* Records as Python objects, for the ordinary client.
 *
 * Both functions do what is ordinary and return None for everything else, which Python then does
 * in its own way: it is Python that says what is wrong with a batch or a record.
 */
#include "kernel.h"
#include "record.h"

/* decode_rows(record_type, payload, record_count, base_offset, base_timestamp, append_time | None)
 *     -> list | None
 */

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

/* encode_rows(rows, room) -> (bytearray, base_timestamp, max_timestamp) | None
 *
 * The bytearray has `room` zeros before the records. Nothing in here runs Python code, so the
 * objects that the first pass has looked at are still there in the second.
 */

typedef struct {
    int64_t timestamp;
    span key;
    span value;
    PyObject *headers;
    int64_t header_count;
    int64_t length;
} row;

/* 0 if the object is neither None nor bytes. */
static int take_bytes(PyObject *object, span *bytes)
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

static int take_header(PyObject *headers, Py_ssize_t i, span *key, span *value)
{
    PyObject *pair = PyTuple_Check(headers) ? PyTuple_GetItem(headers, i)
                                            : PyList_GetItem(headers, i);
    PyObject *text;
    Py_ssize_t size;

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
static int64_t take_headers(PyObject *headers, row *r)
{
    int64_t size = 0;

    r->headers = headers;
    if (PyTuple_CheckExact(headers))
        r->header_count = PyTuple_Size(headers);
    else if (PyList_CheckExact(headers))
        r->header_count = PyList_Size(headers);
    else
        return -1;
    for (Py_ssize_t i = 0; i < r->header_count; i++) {
        span key, value;
        if (!take_header(headers, i, &key, &value))
            return -1;
        size += span_size(key) + span_size(value);
        if (size > MAX_PAYLOAD_BYTES)
            return -1;
    }
    return size;
}

static int take_row(PyObject *object, row *r)
{
    PyObject *timestamp;

    if (object == NULL || !PyTuple_Check(object) || PyTuple_Size(object) < 4)
        return 0;
    timestamp = PyTuple_GetItem(object, 0);
    if (!PyLong_CheckExact(timestamp))
        return 0;
    r->timestamp = PyLong_AsLongLong(timestamp);
    if (r->timestamp == -1 && PyErr_Occurred())
        return 0;
    if (!take_bytes(PyTuple_GetItem(object, 1), &r->key) ||
        !take_bytes(PyTuple_GetItem(object, 2), &r->value))
        return 0;
    r->length = take_headers(PyTuple_GetItem(object, 3), r);
    return r->length >= 0 && r->key.size <= MAX_PAYLOAD_BYTES && r->value.size <= MAX_PAYLOAD_BYTES;
}

/* The bytes all rows take; -1 if one is unusual. Fills `rows`. */
static int64_t measure_rows(PyObject *list, Py_ssize_t count, row *rows, int64_t *max_timestamp)
{
    int is_list = PyList_Check(list);
    int64_t total = 0;

    for (Py_ssize_t i = 0; i < count; i++) {
        row *r = &rows[i];
        int64_t delta;
        if (!take_row(is_list ? PyList_GetItem(list, i) : PyTuple_GetItem(list, i), r))
            return -1;
        if (__builtin_sub_overflow(r->timestamp, rows[0].timestamp, &delta))
            return -1;
        if (i == 0 || r->timestamp > *max_timestamp)
            *max_timestamp = r->timestamp;
        r->length += record_size(delta, i, r->key.size, r->value.size, r->header_count);
        total += varint_size(r->length) + r->length;
        if (total > MAX_PAYLOAD_BYTES)
            return -1;
    }
    return total;
}

static int write_rows(uint8_t *at, Py_ssize_t count, const row *rows)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        const row *r = &rows[i];
        at = write_record(at, r->length, r->timestamp - rows[0].timestamp, i, r->key, r->value,
                          r->header_count);
        for (Py_ssize_t j = 0; j < r->header_count; j++) {
            span key, value;
            if (!take_header(r->headers, j, &key, &value))
                return 0;
            at = write_span(write_span(at, key), value);
        }
    }
    return 1;
}

PyObject *encode_rows(PyObject *module, PyObject *args)
{
    PyObject *list, *batch = NULL;
    Py_ssize_t room, count;
    int64_t total, max_timestamp = 0;
    row *rows;

    (void)module;
    if (!PyArg_ParseTuple(args, "On:encode_rows", &list, &room))
        return NULL;
    if (PyList_Check(list))
        count = PyList_Size(list);
    else if (PyTuple_Check(list))
        count = PyTuple_Size(list);
    else
        count = 0;
    if (count == 0 || room < 0)
        Py_RETURN_NONE;
    rows = PyMem_Calloc((size_t)count, sizeof(row));
    if (rows == NULL)
        return PyErr_NoMemory();
    total = measure_rows(list, count, rows, &max_timestamp);
    if (total >= 0) {
        batch = PyByteArray_FromStringAndSize(NULL, room + (Py_ssize_t)total);
        if (batch != NULL) {
            char *data = PyByteArray_AsString(batch);
            memset(data, 0, (size_t)room);
            if (write_rows((uint8_t *)data + room, count, rows)) {
                long long base_timestamp = rows[0].timestamp;
                PyMem_Free(rows);
                return Py_BuildValue("(NLL)", batch, base_timestamp, (long long)max_timestamp);
            }
            Py_DECREF(batch);
        }
    }
    PyMem_Free(rows);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError))
        return NULL;
    PyErr_Clear(); /* Python will say it in its own words. */
    Py_RETURN_NONE;
}
