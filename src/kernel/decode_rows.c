/* The records of a batch as Python objects, for the ordinary client.
 *
 * decode_rows(record_type, payload, record_count, base_offset, base_timestamp, append_time | None)
 *     -> list | None
 *
 * decode_messages(message_type, payload, record_count, base_offset, base_timestamp,
 *                 append_time | None, topic, partition, start_offset) -> list | None
 *
 * The second leaves out what comes before start_offset. Both types are named tuples, with nothing
 * but their fields: (timestamp, key, value, headers, offset) and
 * (topic, partition, offset, timestamp, key, value, headers).
 *
 * None if a record is not well-formed, or an offset or timestamp outside 64 bits: Python then reads
 * the batch in its own way, and says what is wrong.
 */
#include "kernel.h"
#include "record.h"
#include "type_number.h"

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
    PyObject *topic; /* NULL for records */
    PyObject *partition;
    int64_t start_offset;
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

#define RECORD_FIELDS 5
#define MESSAGE_FIELDS 7

static PyObject *held(PyObject *object)
{
    Py_INCREF(object);
    return object;
}

/* The tuple of a record; NULL with an exception, or without one if it is not well-formed. */
static PyObject *record_object(batch_context *batch, const record *r, int64_t offset)
{
    PyObject *fields[MESSAGE_FIELDS] = {NULL}, **field = fields, *object = NULL;
    Py_ssize_t count = batch->topic == NULL ? RECORD_FIELDS : MESSAGE_FIELDS;

    if (batch->topic != NULL) {
        *field++ = held(batch->topic);
        *field++ = held(batch->partition);
        if ((*field++ = PyLong_FromLongLong(offset)) == NULL)
            goto out;
    }
    if ((*field++ = timestamp_of(batch, r->timestamp_delta)) == NULL ||
        (*field++ = bytes_or_none(r->key)) == NULL ||
        (*field++ = bytes_or_none(r->value)) == NULL || (*field++ = headers_tuple(r)) == NULL)
        goto out;
    if (batch->topic == NULL && (*field++ = PyLong_FromLongLong(offset)) == NULL)
        goto out;
    object = batch->allocate(batch->type, count);
    if (object == NULL)
        goto out;
    for (Py_ssize_t i = 0; i < count; i++)
        PyTuple_SetItem(object, i, fields[i]);
    /* No cycle can ever go through it, so the collector need not visit it, again and again, for as
     * long as the application keeps it. */
    PyObject_GC_UnTrack(object);
    return object;
out:
    for (Py_ssize_t i = 0; i < count; i++)
        Py_XDECREF(fields[i]);
    return NULL;
}

/* 0 with an exception if a record can't be of this type. */
static int take_type(batch_context *batch, PyObject *type)
{
    long dict_offset;

    batch->type = (PyTypeObject *)type;
    batch->allocate = (allocfunc)PyType_GetSlot(batch->type, Py_tp_alloc);
    dict_offset = type_number(batch->type, "__dictoffset__");
    if (PyErr_Occurred())
        return 0;
    if (!PyType_IsSubtype(batch->type, &PyTuple_Type) || batch->allocate == NULL ||
        dict_offset != 0) {
        PyErr_SetString(PyExc_TypeError, "records are tuples, with nothing but their fields");
        return 0;
    }
    return 1;
}

/* Takes over the buffer and gives it back. */
static PyObject *decode(batch_context *batch, PyObject *type, Py_buffer *payload, long long count,
                        PyObject *append_time)
{
    const uint8_t *at = payload->buf, *end = at + payload->len;
    PyObject *records = NULL;
    Py_ssize_t wanted = 0;
    int done = 0;

    if (!take_type(batch, type))
        goto out;
    batch->is_append_time = append_time != Py_None;
    if (batch->is_append_time)
        batch->timestamp = held(append_time);
    if (count < 0 || count > payload->len / MIN_RECORD_SIZE)
        goto out;
    records = PyList_New((Py_ssize_t)count);
    if (records == NULL)
        goto out;
    for (long long i = 0; i < count; i++) {
        record r;
        int64_t offset;
        PyObject *object;
        if (!read_record(&at, end, &r) ||
            __builtin_add_overflow(batch->base_offset, r.offset_delta, &offset))
            goto out;
        if (offset < batch->start_offset)
            continue;
        object = record_object(batch, &r, offset);
        if (object == NULL)
            goto out;
        PyList_SetItem(records, wanted++, object);
    }
    if (wanted < count && PyList_SetSlice(records, wanted, (Py_ssize_t)count, NULL) < 0)
        goto out;
    done = at == end;
out:
    Py_XDECREF(batch->timestamp);
    PyBuffer_Release(payload);
    if (done)
        return records;
    Py_XDECREF(records);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

PyObject *decode_rows(PyObject *module, PyObject *args)
{
    batch_context batch = {.start_offset = INT64_MIN};
    PyObject *type, *append_time;
    Py_buffer payload;
    long long count, base_offset, base_timestamp;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!y*LLLO:decode_rows", &PyType_Type, &type, &payload, &count,
                          &base_offset, &base_timestamp, &append_time))
        return NULL;
    batch.base_offset = base_offset;
    batch.base_timestamp = base_timestamp;
    return decode(&batch, type, &payload, count, append_time);
}

PyObject *decode_messages(PyObject *module, PyObject *args)
{
    batch_context batch = {.topic = NULL};
    PyObject *type, *append_time;
    Py_buffer payload;
    long long count, base_offset, base_timestamp, start_offset;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!y*LLLOO!O!L:decode_messages", &PyType_Type, &type, &payload,
                          &count, &base_offset, &base_timestamp, &append_time, &PyUnicode_Type,
                          &batch.topic, &PyLong_Type, &batch.partition, &start_offset))
        return NULL;
    batch.base_offset = base_offset;
    batch.base_timestamp = base_timestamp;
    batch.start_offset = start_offset;
    return decode(&batch, type, &payload, count, append_time);
}
