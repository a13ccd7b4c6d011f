/* Records as Python objects to the records of a batch, for the ordinary client.
 *
 * encode_rows(rows, room) -> (bytearray, base_timestamp, max_timestamp) | None
 *
 * The bytearray has `room` zeros before the records. None if a row or a part of it is not of the
 * usual type, or too large: Python then does it in its own way, and says what is wrong.
 *
 * Nothing in here runs Python code, so the objects that the first pass has looked at are still
 * there in the second.
 */
#include "take.h"

typedef struct {
    int64_t timestamp;
    span key;
    span value;
    PyObject *headers;
    int64_t header_count;
    int64_t length;
} row;

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
    r->headers = PyTuple_GetItem(object, 3);
    r->length = take_headers(r->headers, &r->header_count);
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
        at = write_headers(at, r->headers, r->header_count);
        if (at == NULL)
            return 0;
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
