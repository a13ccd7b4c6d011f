/* Arrow columns to the records of one batch.
 *
 * encode_columns(rows | None, at, stop, max_bytes, room, timestamp, key | None, value | None,
 *                headers | None) -> (bytearray, next, base_timestamp, max_timestamp)
 *
 * Takes as many rows from position `at` on as fit into `max_bytes`, at least one, and stops before
 * `stop`. `rows` has the row numbers, uint64, for these positions; without it, positions are row
 * numbers. What a record takes is estimated from above, as max_record_size in
 * barnabas/records/encode.py does, so that the batches are the same however they are encoded.
 *
 * timestamp   (int64 buffer, first)
 * key, value  (bitmap | None, int64 ends, data | None, first), as Arrow's large_binary
 * headers     (bitmap | None, int64 ends, first, key, value), as Arrow's large_list of those two
 *
 * `first` is where a sliced array begins in its buffers. Raises ValueError if arrays do not fit
 * together or can't be encoded.
 */
#include "kernel.h"
#include "record.h"

#define MAX_RECORD_OVERHEAD 36
#define MAX_HEADER_OVERHEAD 10

#define USUAL_RECORD_SIZE 256
#define MIN_CAPACITY 4096
#define MAX_CAPACITY (1 << 24)

/* A buffer of Arrow's, or none. */
typedef struct {
    Py_buffer view;
    int held;
} held_buffer;

static int64_t int64_at(const held_buffer *buffer, int64_t i)
{
    int64_t value;
    memcpy(&value, (const char *)buffer->view.buf + 8 * i, sizeof value);
    return value;
}

static int64_t int64_count(const held_buffer *buffer)
{
    return buffer->held ? buffer->view.len / 8 : 0;
}

static int hold(PyObject *object, held_buffer *buffer)
{
    if (object == Py_None)
        return 1;
    if (PyObject_GetBuffer(object, &buffer->view, PyBUF_SIMPLE) < 0)
        return 0;
    buffer->held = 1;
    return 1;
}

static void let_go(held_buffer *buffer)
{
    if (buffer->held)
        PyBuffer_Release(&buffer->view);
    buffer->held = 0;
}

typedef struct {
    int present;
    held_buffer valid;
    held_buffer ends;
    held_buffer data;
    Py_ssize_t first;
} column;

typedef struct {
    held_buffer rows;
    held_buffer timestamp;
    Py_ssize_t first_timestamp;
    column key;
    column value;
    column headers; /* without data: its ends count headers */
    column header_key;
    column header_value;
} table;

static int hold_column(PyObject *object, column *c)
{
    PyObject *valid, *ends, *data;

    if (object == Py_None)
        return 1;
    if (!PyTuple_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "a column is a tuple");
        return 0;
    }
    if (!PyArg_ParseTuple(object, "OOOn", &valid, &ends, &data, &c->first))
        return 0;
    c->present = 1;
    return hold(valid, &c->valid) && hold(ends, &c->ends) && hold(data, &c->data);
}

static int hold_headers(PyObject *object, table *t)
{
    PyObject *valid, *ends, *key, *value;

    if (object == Py_None)
        return 1;
    if (!PyTuple_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "headers are a tuple");
        return 0;
    }
    if (!PyArg_ParseTuple(object, "OOnOO", &valid, &ends, &t->headers.first, &key, &value))
        return 0;
    t->headers.present = 1;
    return hold(valid, &t->headers.valid) && hold(ends, &t->headers.ends) &&
           hold_column(key, &t->header_key) && hold_column(value, &t->header_value);
}

static void let_go_column(column *c)
{
    let_go(&c->valid);
    let_go(&c->ends);
    let_go(&c->data);
}

static const char MALFORMED[] = "an Arrow array is malformed";
static const char TOO_LARGE[] = "a record is too large for a batch";
static const char TOO_FAR[] = "two timestamps of a batch are too far apart";
static const char NULL_HEADER_KEY[] = "the key of a header is null";

/* Where row `row` begins and ends; begin is -1 for null. NULL, or what is wrong. */
static const char *range_of(const column *c, int64_t row, int64_t *begin, int64_t *end)
{
    int64_t i;

    *begin = -1;
    *end = 0;
    if (!c->present)
        return NULL;
    if (__builtin_add_overflow(row, (int64_t)c->first, &i) || row < 0 || i < 0 ||
        i >= int64_count(&c->ends) - 1)
        return MALFORMED;
    if (c->valid.held) {
        if (i / 8 >= c->valid.view.len)
            return MALFORMED;
        if (!(((const uint8_t *)c->valid.view.buf)[i / 8] >> (i % 8) & 1))
            return NULL;
    }
    *begin = int64_at(&c->ends, i);
    *end = int64_at(&c->ends, i + 1);
    return 0 <= *begin && *begin <= *end ? NULL : MALFORMED;
}

static const char *span_of(const column *c, int64_t row, span *bytes)
{
    int64_t begin, end;
    const char *problem = range_of(c, row, &begin, &end);

    bytes->data = NULL;
    bytes->size = -1;
    if (problem != NULL || begin < 0)
        return problem;
    if (end > (c->data.held ? c->data.view.len : 0))
        return MALFORMED;
    bytes->size = end - begin;
    bytes->data = bytes->size > 0 ? (const uint8_t *)c->data.view.buf + begin : NULL;
    return bytes->size <= MAX_PAYLOAD_BYTES ? NULL : TOO_LARGE;
}

static const char *header_of(const table *t, int64_t i, span *key, span *value)
{
    const char *problem = span_of(&t->header_key, i, key);

    if (problem == NULL)
        problem = span_of(&t->header_value, i, value);
    if (problem == NULL && key->size < 0)
        problem = NULL_HEADER_KEY;
    return problem;
}

/* One row, looked at but for its headers' bytes. */
typedef struct {
    int64_t timestamp;
    span key;
    span value;
    int64_t headers_begin;
    int64_t headers_end;
    int64_t headers_size;
} row;

static const char *row_at(const table *t, int64_t position, row *r)
{
    int64_t number = position, i;
    const char *problem;

    if (t->rows.held) {
        if (position < 0 || position >= int64_count(&t->rows))
            return MALFORMED;
        number = int64_at(&t->rows, position);
    }
    if (number < 0 || __builtin_add_overflow(number, (int64_t)t->first_timestamp, &i) || i < 0 ||
        i >= int64_count(&t->timestamp))
        return MALFORMED;
    r->timestamp = int64_at(&t->timestamp, i);
    if ((problem = span_of(&t->key, number, &r->key)) != NULL ||
        (problem = span_of(&t->value, number, &r->value)) != NULL ||
        (problem = range_of(&t->headers, number, &r->headers_begin, &r->headers_end)) != NULL)
        return problem;
    if (r->headers_begin < 0)
        r->headers_begin = 0;
    r->headers_size = 0;
    for (i = r->headers_begin; i < r->headers_end; i++) {
        span key, value;
        if ((problem = header_of(t, i, &key, &value)) != NULL)
            return problem;
        r->headers_size += span_size(key) + span_size(value);
        if (r->headers_size > MAX_PAYLOAD_BYTES)
            return TOO_LARGE;
    }
    return NULL;
}

static int64_t record_bound(const table *t, const row *r)
{
    int64_t bound = MAX_RECORD_OVERHEAD + (r->key.size > 0 ? r->key.size : 0) +
                    (r->value.size > 0 ? r->value.size : 0);

    for (int64_t i = r->headers_begin; i < r->headers_end; i++) {
        span key = {NULL, 0}, value = {NULL, 0};
        (void)header_of(t, i, &key, &value); /* row_at has done it before */
        bound += MAX_HEADER_OVERHEAD + (key.size > 0 ? key.size : 0) +
                 (value.size > 0 ? value.size : 0);
    }
    return bound;
}

static int64_t row_length(const row *r, int64_t timestamp_delta, int64_t offset_delta)
{
    return r->headers_size + record_size(timestamp_delta, offset_delta, r->key.size, r->value.size,
                                         r->headers_end - r->headers_begin);
}

/* What has been written so far. */
typedef struct {
    int64_t next; /* the first position that is not in it */
    int64_t size;
    int64_t bound;
    int64_t base_timestamp;
    int64_t max_timestamp;
} progress;

static const char *write_headers(const table *t, const row *r, uint8_t *at, const uint8_t *end)
{
    for (int64_t i = r->headers_begin; i < r->headers_end; i++) {
        span key, value;
        const char *problem = header_of(t, i, &key, &value);
        if (problem != NULL)
            return problem;
        if (span_size(key) + span_size(value) > end - at)
            return MALFORMED; /* it has changed since it was measured */
        at = write_span(write_span(at, key), value);
    }
    return at == end ? NULL : MALFORMED;
}

/* Write rows up to `stop`, or to one that does not fit any more, or to one for which there are not
 * enough bytes at `data`: *missing then says how many it needs. NULL, or what is wrong. */
static const char *write_rows(const table *t, int64_t begin, int64_t stop, int64_t max_bytes,
                              progress *p, uint8_t *data, int64_t capacity, int64_t *missing)
{
    for (*missing = 0; p->next < stop; p->next++) {
        row r;
        int64_t delta, length, bound, size;
        uint8_t *at = data + p->size;
        const char *problem = row_at(t, p->next, &r);
        if (problem != NULL)
            return problem;
        bound = p->bound + record_bound(t, &r);
        if (p->next == begin)
            p->base_timestamp = p->max_timestamp = r.timestamp;
        else if (bound > max_bytes)
            return NULL;
        if (__builtin_sub_overflow(r.timestamp, p->base_timestamp, &delta))
            return TOO_FAR;
        length = row_length(&r, delta, p->next - begin);
        size = varint_size(length) + length;
        if (p->size + size > MAX_PAYLOAD_BYTES)
            return TOO_LARGE;
        if (size > capacity - p->size) {
            *missing = size;
            return NULL;
        }
        const uint8_t *end = at + size;
        at = write_record(at, length, delta, p->next - begin, r.key, r.value,
                          r.headers_end - r.headers_begin);
        if ((problem = write_headers(t, &r, at, end)) != NULL)
            return problem;
        if (r.timestamp > p->max_timestamp)
            p->max_timestamp = r.timestamp;
        p->size += size;
        p->bound = bound;
    }
    return NULL;
}

/* A guess at the bytes that so many rows need; nothing depends on it but how often a batch grows. */
static int64_t first_capacity(int64_t rows, int64_t max_bytes)
{
    int64_t most = max_bytes < MAX_CAPACITY ? max_bytes : MAX_CAPACITY;
    int64_t guess = rows < most / USUAL_RECORD_SIZE ? rows * USUAL_RECORD_SIZE : most;

    return guess > MIN_CAPACITY ? guess : MIN_CAPACITY;
}

/* The rows behind `room` bytes of zeros; NULL with an exception. */
static PyObject *write_batch(const table *t, int64_t begin, int64_t stop, int64_t max_bytes,
                             Py_ssize_t room, progress *p)
{
    int64_t capacity = first_capacity(stop - begin, max_bytes), missing;
    PyObject *batch = PyByteArray_FromStringAndSize(NULL, room + (Py_ssize_t)capacity);

    if (batch == NULL)
        return NULL;
    memset(PyByteArray_AsString(batch), 0, (size_t)room);
    p->next = begin;
    do {
        uint8_t *data = (uint8_t *)PyByteArray_AsString(batch) + room;
        const char *problem;
        Py_BEGIN_ALLOW_THREADS
        problem = write_rows(t, begin, stop, max_bytes, p, data, capacity, &missing);
        Py_END_ALLOW_THREADS
        if (problem != NULL) {
            PyErr_SetString(PyExc_ValueError, problem);
            goto failed;
        }
        capacity = missing > 0 ? 2 * capacity + missing : p->size;
        if (PyByteArray_Resize(batch, room + (Py_ssize_t)capacity) < 0)
            goto failed;
    } while (missing > 0);
    return batch;
failed:
    Py_DECREF(batch);
    return NULL;
}

PyObject *encode_columns(PyObject *module, PyObject *args)
{
    table t = {.first_timestamp = 0};
    PyObject *rows, *timestamp, *key, *value, *headers, *batch = NULL, *result = NULL;
    long long at, stop, max_bytes;
    Py_ssize_t room;
    progress p = {0};

    (void)module;
    if (!PyArg_ParseTuple(args, "OLLLn(On)OOO:encode_columns", &rows, &at, &stop, &max_bytes, &room,
                          &timestamp, &t.first_timestamp, &key, &value, &headers))
        return NULL;
    if (!hold(rows, &t.rows) || !hold(timestamp, &t.timestamp) || !hold_column(key, &t.key) ||
        !hold_column(value, &t.value) || !hold_headers(headers, &t))
        goto out;
    if (at < 0 || at >= stop || room < 0 || room > MAX_PAYLOAD_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a batch needs at least one record");
        goto out;
    }
    batch = write_batch(&t, at, stop, max_bytes, room, &p);
    if (batch == NULL)
        goto out;
    result = Py_BuildValue("(OLLL)", batch, (long long)p.next, (long long)p.base_timestamp,
                           (long long)p.max_timestamp);
out:
    Py_XDECREF(batch);
    let_go(&t.rows);
    let_go(&t.timestamp);
    let_go_column(&t.key);
    let_go_column(&t.value);
    let_go_column(&t.headers);
    let_go_column(&t.header_key);
    let_go_column(&t.header_value);
    return result;
}
