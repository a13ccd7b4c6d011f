/* The records of a batch, appended to Arrow columns.
 *
 * decode_columns(payload, record_count, base_offset, base_timestamp, append_time | None,
 *                start_offset, rows, sinks, sizes) -> int | None
 *
 * `sinks` is a tuple of 14 bytearrays, the buffers of the columns in the order of `sink` below; a
 * column that is not wanted has None for all of its buffers. They are longer than they need to be:
 * `sizes`, 14 times int64, says how many bytes of each are in use. `rows` rows are in them already.
 * The records from `start_offset` on are appended, and their number is returned. None, and nothing
 * appended, if a record is not well-formed, a header's key no UTF-8, an offset or timestamp
 * outside 64 bits, or a column longer than its 32-bit offsets allow.
 *
 * All buffers are made large enough for the worst case first, so the loop over the records needs
 * no allocation, and no GIL.
 */
#include "kernel.h" /* first, because of Python.h */

#include "../kernel_headers/utf8.h"
#include "record.h"

enum sink {
    OFFSET,
    TIMESTAMP,
    KEY_ENDS, /* int32, one more than rows; likewise the other ends */
    KEY_DATA,
    KEY_VALID, /* a bitmap, lowest bit first; likewise the others */
    VALUE_ENDS,
    VALUE_DATA,
    VALUE_VALID,
    HEADER_ENDS,     /* of each row's headers in the four columns below */
    HEADER_KEY_ENDS,
    HEADER_KEY_DATA,
    HEADER_VALUE_ENDS,
    HEADER_VALUE_DATA,
    HEADER_VALUE_VALID,
    SINKS,
};

/* A bytearray that grows. While `view` is held, nobody else can resize it. */
typedef struct {
    PyObject *object;
    Py_ssize_t before; /* bytes in use, now and then */
    Py_ssize_t after;
    Py_buffer view;
    uint8_t *data; /* NULL unless the view is held */
} growing;

typedef struct {
    growing sinks[SINKS];
    Py_ssize_t rows;    /* in the columns so far */
    Py_ssize_t headers; /* likewise */
    int64_t base_offset;
    int64_t base_timestamp;
    int64_t append_time;
    int is_append_time;
    int64_t start_offset;
} columns;

/* Room for so many more bytes; growing by half at least keeps the cost of growing small. */
static int grow(columns *c, enum sink which, int64_t by)
{
    growing *g = &c->sinks[which];
    Py_ssize_t size, needed;

    if (g->object == NULL)
        return 1;
    if (by > PY_SSIZE_T_MAX / 2 - g->before) {
        PyErr_NoMemory();
        return 0;
    }
    size = PyByteArray_Size(g->object);
    needed = g->before + (Py_ssize_t)by;
    if (needed > size && PyByteArray_Resize(g->object, needed + needed / 2) < 0)
        return 0;
    if (PyObject_GetBuffer(g->object, &g->view, PyBUF_WRITABLE) < 0)
        return 0;
    g->data = g->view.buf;
    return 1;
}

/* Room for the bits of `count` more rows, all 0. */
static int grow_bitmap(columns *c, enum sink which, Py_ssize_t bits, int64_t count)
{
    growing *g = &c->sinks[which];
    int64_t more = (bits + count + 7) / 8 - g->before;

    if (g->object == NULL)
        return 1;
    if (!grow(c, which, more))
        return 0;
    /* An attempt that failed may have left some behind. */
    if (bits % 8 != 0)
        g->data[bits / 8] &= (uint8_t)((1u << (bits % 8)) - 1);
    memset(g->data + g->before, 0, (size_t)more);
    return 1;
}

static inline void set_bit(growing *g, Py_ssize_t bit)
{
    g->data[bit >> 3] |= (uint8_t)(1u << (bit & 7));
}

static inline void put_int32(growing *g, Py_ssize_t value)
{
    int32_t narrow = (int32_t)value;
    memcpy(g->data + g->after, &narrow, sizeof narrow);
    g->after += (Py_ssize_t)sizeof narrow;
}

static inline void put_int64(growing *g, int64_t value)
{
    memcpy(g->data + g->after, &value, sizeof value);
    g->after += (Py_ssize_t)sizeof value;
}

/* Append one value to the column that begins at sink `ends`: its end, its bytes, its bit. All sizes
 * of one batch's spans add up to no more than its payload, so there is room. */
static inline int put_span(growing *ends, growing *data, growing *valid, Py_ssize_t row, span bytes)
{
    if (bytes.size >= 0) {
        if (bytes.size > data->view.len - data->after)
            return 0;
        memcpy(data->data + data->after, bytes.data, (size_t)bytes.size);
        data->after += (Py_ssize_t)bytes.size;
        if (valid != NULL)
            set_bit(valid, row);
    }
    put_int32(ends, data->after);
    return 1;
}

static int put_headers(columns *c, Py_ssize_t *headers, const record *r)
{
    growing *s = c->sinks;
    const uint8_t *at = r->headers;

    for (int64_t i = 0; i < r->header_count; i++) {
        span key, value;
        if (!read_header(&at, r->end, &key, &value) || !is_utf8(key.data, key.data + key.size))
            return 0;
        if (s[HEADER_KEY_ENDS].after + 4 > s[HEADER_KEY_ENDS].view.len)
            return 0;
        if (!put_span(&s[HEADER_KEY_ENDS], &s[HEADER_KEY_DATA], NULL, *headers, key) ||
            !put_span(&s[HEADER_VALUE_ENDS], &s[HEADER_VALUE_DATA], &s[HEADER_VALUE_VALID],
                      *headers, value))
            return 0;
        ++*headers;
    }
    put_int32(&s[HEADER_ENDS], *headers);
    return 1;
}

/* The number of headers in all records; -1 if a record is not well-formed. */
static int64_t count_headers(const uint8_t *at, const uint8_t *end, int64_t count)
{
    int64_t headers = 0;

    for (int64_t i = 0; i < count; i++) {
        record r;
        if (!read_record(&at, end, &r))
            return -1;
        headers += r.header_count;
    }
    return headers;
}

/* Append all records from the start offset on; the number of rows then, or -1. */
static Py_ssize_t fill(columns *c, const uint8_t *at, const uint8_t *end, int64_t count)
{
    growing *s = c->sinks;
    Py_ssize_t row = c->rows, headers = c->headers;

    for (int64_t i = 0; i < count; i++) {
        record r;
        int64_t offset, timestamp = c->append_time;
        if (!read_record(&at, end, &r))
            return -1;
        if (__builtin_add_overflow(c->base_offset, r.offset_delta, &offset))
            return -1;
        if (!c->is_append_time &&
            __builtin_add_overflow(c->base_timestamp, r.timestamp_delta, &timestamp))
            return -1;
        if (offset < c->start_offset)
            continue;
        if (s[OFFSET].object != NULL)
            put_int64(&s[OFFSET], offset);
        if (s[TIMESTAMP].object != NULL)
            put_int64(&s[TIMESTAMP], timestamp);
        if (s[KEY_ENDS].object != NULL &&
            !put_span(&s[KEY_ENDS], &s[KEY_DATA], &s[KEY_VALID], row, r.key))
            return -1;
        if (s[VALUE_ENDS].object != NULL &&
            !put_span(&s[VALUE_ENDS], &s[VALUE_DATA], &s[VALUE_VALID], row, r.value))
            return -1;
        if (s[HEADER_ENDS].object != NULL && !put_headers(c, &headers, &r))
            return -1;
        row++;
    }
    c->headers = headers;
    return at == end ? row : -1;
}

static int take_sinks(columns *c, PyObject *sinks, const Py_buffer *sizes)
{
    if (PyTuple_Size(sinks) != SINKS || sizes->len != 8 * SINKS) {
        PyErr_Format(PyExc_TypeError, "%d sinks and sizes are needed", SINKS);
        return 0;
    }
    for (Py_ssize_t i = 0; i < SINKS; i++) {
        growing *g = &c->sinks[i];
        PyObject *object = PyTuple_GetItem(sinks, i);
        if (object == Py_None)
            continue;
        if (!PyByteArray_Check(object)) {
            PyErr_SetString(PyExc_TypeError, "a sink is a bytearray or None");
            return 0;
        }
        int64_t size;
        memcpy(&size, (const char *)sizes->buf + 8 * i, sizeof size);
        if (size < 0 || size > PyByteArray_Size(object)) {
            PyErr_SetString(PyExc_ValueError, "a sink is smaller than its size");
            return 0;
        }
        g->object = object;
        g->before = g->after = (Py_ssize_t)size;
    }
    return 1;
}

/* Whether the buffers of each column are there together and have the size that so many rows have. */
static int are_consistent(columns *c)
{
    growing *s = c->sinks;
    static const int first[] = {KEY_ENDS, VALUE_ENDS, HEADER_ENDS};
    static const int last[] = {KEY_VALID, VALUE_VALID, HEADER_VALUE_VALID};
    int consistent = c->rows >= 0;

    for (int i = 0; i < 3; i++)
        for (int j = first[i]; j <= last[i]; j++)
            consistent &= (s[j].object == NULL) == (s[first[i]].object == NULL);
    if (!consistent)
        goto out;
    for (int i = OFFSET; i <= TIMESTAMP; i++)
        if (s[i].object != NULL)
            consistent &= s[i].before == 8 * c->rows;
    for (int i = 0; i < 3; i++)
        if (s[first[i]].object != NULL)
            consistent &= s[first[i]].before == 4 * (c->rows + 1);
    for (int i = 0; i < 2; i++)
        if (s[last[i]].object != NULL)
            consistent &= s[last[i]].before == (c->rows + 7) / 8;
    if (s[HEADER_ENDS].object != NULL) {
        c->headers = s[HEADER_KEY_ENDS].before / 4 - 1;
        consistent &= c->headers >= 0;
        consistent &= s[HEADER_KEY_ENDS].before == 4 * (c->headers + 1);
        consistent &= s[HEADER_VALUE_ENDS].before == 4 * (c->headers + 1);
        consistent &= s[HEADER_VALUE_VALID].before == (c->headers + 7) / 8;
    }
out:
    if (!consistent)
        PyErr_SetString(PyExc_ValueError, "the sinks do not fit together");
    return consistent;
}

static int make_room(columns *c, Py_ssize_t payload_size, int64_t count, int64_t headers)
{
    return grow(c, OFFSET, 8 * count) && grow(c, TIMESTAMP, 8 * count) &&
           grow(c, KEY_ENDS, 4 * count) && grow(c, KEY_DATA, payload_size) &&
           grow_bitmap(c, KEY_VALID, c->rows, count) && grow(c, VALUE_ENDS, 4 * count) &&
           grow(c, VALUE_DATA, payload_size) && grow_bitmap(c, VALUE_VALID, c->rows, count) &&
           grow(c, HEADER_ENDS, 4 * count) && grow(c, HEADER_KEY_ENDS, 4 * headers) &&
           grow(c, HEADER_KEY_DATA, headers > 0 ? payload_size : 0) &&
           grow(c, HEADER_VALUE_ENDS, 4 * headers) &&
           grow(c, HEADER_VALUE_DATA, headers > 0 ? payload_size : 0) &&
           grow_bitmap(c, HEADER_VALUE_VALID, c->headers, headers);
}

/* Let go of all sinks and, after a success, write down their sizes. */
static void settle(columns *c, Py_ssize_t rows, Py_buffer *sizes)
{
    growing *s = c->sinks;

    s[KEY_VALID].after = s[VALUE_VALID].after = (rows + 7) / 8;
    s[HEADER_VALUE_VALID].after = (c->headers + 7) / 8;
    for (int i = 0; i < SINKS; i++) {
        int64_t size = s[i].after;
        if (s[i].data == NULL)
            continue;
        PyBuffer_Release(&s[i].view);
        if (rows >= 0)
            memcpy((char *)sizes->buf + 8 * i, &size, sizeof size);
    }
}

/* Whether the 32-bit ends of every wanted column can count that much more. */
static int fits_32_bits(const columns *c, Py_ssize_t payload_size)
{
    static const int counted[] = {KEY_DATA, VALUE_DATA, HEADER_KEY_DATA, HEADER_VALUE_DATA};

    for (int i = 0; i < 4; i++)
        if (c->sinks[counted[i]].before > INT32_MAX - payload_size)
            return 0;
    return c->headers <= INT32_MAX - payload_size;
}

PyObject *decode_columns(PyObject *module, PyObject *args)
{
    columns c = {.rows = 0};
    PyObject *append_time, *sinks;
    Py_buffer payload, sizes;
    long long count, base_offset, base_timestamp, start_offset;
    int64_t headers = 0;
    Py_ssize_t rows = -1;

    (void)module;
    if (!PyArg_ParseTuple(args, "y*LLLOLnO!w*:decode_columns", &payload, &count, &base_offset,
                          &base_timestamp, &append_time, &start_offset, &c.rows, &PyTuple_Type,
                          &sinks, &sizes))
        return NULL;
    c.base_offset = base_offset;
    c.base_timestamp = base_timestamp;
    c.start_offset = start_offset;
    c.is_append_time = append_time != Py_None;
    if (c.is_append_time) {
        c.append_time = PyLong_AsLongLong(append_time);
        if (c.append_time == -1 && PyErr_Occurred())
            goto out;
    }
    if (!take_sinks(&c, sinks, &sizes) || !are_consistent(&c))
        goto out;
    if (count < 0 || count > payload.len / MIN_RECORD_SIZE || payload.len > INT32_MAX ||
        !fits_32_bits(&c, payload.len))
        goto out;
    if (c.sinks[HEADER_ENDS].object != NULL)
        headers = count_headers(payload.buf, (uint8_t *)payload.buf + payload.len, count);
    if (headers >= 0 && make_room(&c, payload.len, count, headers)) {
        Py_BEGIN_ALLOW_THREADS
        rows = fill(&c, payload.buf, (uint8_t *)payload.buf + payload.len, count);
        Py_END_ALLOW_THREADS
    }
    settle(&c, rows, &sizes);
out:
    PyBuffer_Release(&payload);
    PyBuffer_Release(&sizes);
    if (rows >= 0)
        return PyLong_FromSsize_t(rows - c.rows);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}
