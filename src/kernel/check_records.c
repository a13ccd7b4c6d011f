/* Looking at the records of a batch without making anything from them.
 *
 * check_records(payload, at, record_count, last_offset_delta, base_timestamp)
 *     -> (earliest, latest, keyless) | None
 *
 * find_records(payload, at, record_count, base_timestamp, from, upto, needs_key, limit)
 *     -> list of (index, timestamp, has_key)
 *
 * Both read the payload from position `at` on. barnabas/records/check.py says what they check, and
 * does the same; None sends the batch there, to be told what is wrong with it.
 */
#include "kernel.h"
#include "record.h"

/* The rest of an integer whose first two bytes say that there are more, or that is near the end. */
static int read_long_int32(const uint8_t **at, const uint8_t *end, int64_t *value)
{
    const uint8_t *p = *at;
    uint32_t folded = 0;

    for (int shift = 0; shift < 35; shift += 7) {
        if (p >= end)
            return 0;
        uint8_t byte = *p++;
        if (shift == 28 && byte > 0x0f)
            return 0;
        folded |= (uint32_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = unfold(folded);
            *at = p;
            return 1;
        }
    }
    return 0;
}

/* What a broker stores has to be readable by clients that allow five bytes for everything but a
 * timestamp, so this is stricter than read_varint. One or two bytes are what nearly all take. */
static inline int read_int32(const uint8_t **at, const uint8_t *end, int64_t *value)
{
    const uint8_t *p = *at;

    if (end - p >= 2) {
        uint8_t first = p[0], second = p[1];
        if (first < 0x80) {
            *value = unfold(first);
            *at = p + 1;
            return 1;
        }
        if (second < 0x80) {
            *value = unfold((uint32_t)(first & 0x7f) | (uint32_t)second << 7);
            *at = p + 2;
            return 1;
        }
    }
    return read_long_int32(at, end, value);
}

/* Step behind a length and the bytes it announces; `size` is -1 for null. */
static inline int skip_span(const uint8_t **at, const uint8_t *end, int64_t *size)
{
    if (!read_int32(at, end, size) || *size < -1 || *size > end - *at)
        return 0;
    if (*size > 0)
        *at += *size;
    return 1;
}

static int skip_headers(const uint8_t **at, const uint8_t *end, int64_t count)
{
    int64_t size;

    if (count < 0 || count > (end - *at) / MIN_HEADER_SIZE)
        return 0;
    while (count-- > 0) {
        if (!skip_span(at, end, &size) || size < 0 || !skip_span(at, end, &size))
            return 0;
    }
    return 1;
}

typedef struct {
    int64_t timestamp_delta;
    int64_t offset_delta;
    int64_t key_size;
} outline;

/* Step behind the record at *at; 0 if it is not well-formed in every part. */
static inline int skip_record(const uint8_t **at, const uint8_t *end, outline *r)
{
    int64_t length, size, header_count;
    const uint8_t *p;

    if (!read_int32(at, end, &length) || length <= 0 || length > end - *at)
        return 0;
    p = *at;
    end = p + length;
    if (*p++ >= 0x80) /* the attributes, which some clients read as a varint */
        return 0;
    if (p < end && *p < 0x80)
        r->timestamp_delta = unfold(*p++);
    else if (!read_varint(&p, end, &r->timestamp_delta))
        return 0;
    if (!read_int32(&p, end, &r->offset_delta) || !skip_span(&p, end, &r->key_size) ||
        !skip_span(&p, end, &size) || !read_int32(&p, end, &header_count))
        return 0;
    if (header_count != 0 && !skip_headers(&p, end, header_count))
        return 0;
    *at = end;
    return p == end;
}

/* The numbers behind the payload; 0 with an exception. */
static int take_numbers(PyObject *const *args, int64_t *numbers, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        numbers[i] = PyLong_AsLongLong(args[i]);
        if (numbers[i] == -1 && PyErr_Occurred())
            return 0;
    }
    return 1;
}

static int take_arguments(PyObject *const *args, Py_ssize_t given, Py_buffer *payload,
                          int64_t *numbers, Py_ssize_t count)
{
    if (given != count + 1) {
        PyErr_Format(PyExc_TypeError, "%zd arguments, got %zd", count + 1, given);
        return 0;
    }
    if (!take_numbers(args + 1, numbers, count) ||
        PyObject_GetBuffer(args[0], payload, PyBUF_SIMPLE) < 0)
        return 0;
    if (numbers[0] < 0 || numbers[0] > payload->len) {
        PyBuffer_Release(payload);
        PyErr_SetString(PyExc_ValueError, "the records begin outside of the payload");
        return 0;
    }
    return 1;
}

static PyObject *three_numbers(int64_t first, int64_t second, int64_t third)
{
    const int64_t numbers[] = {first, second, third};
    PyObject *result = PyTuple_New(3);

    for (Py_ssize_t i = 0; result != NULL && i < 3; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (number == NULL)
            Py_CLEAR(result);
        else
            PyTuple_SetItem(result, i, number);
    }
    return result;
}

enum { AT, COUNT, LAST_OFFSET_DELTA, CHECK_BASE_TIMESTAMP, CHECK_NUMBERS };

PyObject *check_records(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t number[CHECK_NUMBERS], earliest = INT64_MAX, latest = NO_TIMESTAMP, keyless = 0;
    int64_t previous = -1, left;
    const uint8_t *at, *end;
    Py_buffer payload;

    (void)module;
    if (!take_arguments(args, given, &payload, number, CHECK_NUMBERS))
        return NULL;
    at = (const uint8_t *)payload.buf + number[AT];
    end = (const uint8_t *)payload.buf + payload.len;
    for (left = number[COUNT]; left > 0; left--) {
        outline r;
        int64_t timestamp;
        if (!skip_record(&at, end, &r) || r.offset_delta <= previous ||
            __builtin_add_overflow(number[CHECK_BASE_TIMESTAMP], r.timestamp_delta, &timestamp))
            break;
        previous = r.offset_delta;
        keyless += r.key_size < 0;
        if (timestamp > latest)
            latest = timestamp;
        if (timestamp < earliest && timestamp != NO_TIMESTAMP)
            earliest = timestamp;
    }
    PyBuffer_Release(&payload);
    if (left != 0 || at != end || previous > number[LAST_OFFSET_DELTA])
        Py_RETURN_NONE;
    /* Without any timestamp, or with nothing but the greatest, the two are the same. */
    return three_numbers(earliest == INT64_MAX ? latest : earliest, latest, keyless);
}

enum { BASE_TIMESTAMP = 2, FROM, UPTO, NEEDS_KEY, LIMIT, FIND_NUMBERS };

PyObject *find_records(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    int64_t number[FIND_NUMBERS];
    const uint8_t *at, *end;
    Py_buffer payload;
    PyObject *found;

    (void)module;
    if (!take_arguments(args, given, &payload, number, FIND_NUMBERS))
        return NULL;
    at = (const uint8_t *)payload.buf + number[AT];
    end = (const uint8_t *)payload.buf + payload.len;
    found = PyList_New(0);
    for (int64_t i = 0; found != NULL && i < number[COUNT]; i++) {
        outline r;
        int64_t timestamp;
        PyObject *one;
        int failed;
        if (PyList_Size(found) >= number[LIMIT] || !skip_record(&at, end, &r) ||
            __builtin_add_overflow(number[BASE_TIMESTAMP], r.timestamp_delta, &timestamp))
            break;
        if ((r.key_size >= 0 || !number[NEEDS_KEY]) &&
            (timestamp == NO_TIMESTAMP || (timestamp >= number[FROM] && timestamp <= number[UPTO])))
            continue;
        one = three_numbers(i, timestamp, r.key_size >= 0);
        failed = one == NULL || PyList_Append(found, one) < 0;
        Py_XDECREF(one);
        if (failed)
            Py_CLEAR(found);
    }
    PyBuffer_Release(&payload);
    return found;
}
