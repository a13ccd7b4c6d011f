/* The hash by which Kafka's clients choose a partition; barnabas/records/murmur2.py has it too. */
#include "kernel.h"

#define SEED 0x9747b28cu
#define M 0x5bd1e995u

static uint32_t hash(const uint8_t *data, Py_ssize_t size)
{
    uint32_t h = SEED ^ (uint32_t)size;

    for (; size >= 4; data += 4, size -= 4) {
        uint32_t k = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
                     (uint32_t)data[3] << 24;
        k *= M;
        k ^= k >> 24;
        k *= M;
        h *= M;
        h ^= k;
    }
    if (size > 0) {
        uint32_t k = data[0];
        if (size > 1)
            k |= (uint32_t)data[1] << 8;
        if (size > 2)
            k |= (uint32_t)data[2] << 16;
        h ^= k;
        h *= M;
    }
    h ^= h >> 13;
    h *= M;
    return h ^ h >> 15;
}

/* murmur2(buffer) -> int */
PyObject *murmur2(PyObject *module, PyObject *object)
{
    Py_buffer data;
    uint32_t h;

    (void)module;
    if (PyObject_GetBuffer(object, &data, PyBUF_SIMPLE) < 0)
        return NULL;
    h = hash(data.buf, data.len);
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(h);
}

static int32_t partition_of(const uint8_t *key, Py_ssize_t size, int32_t partition_count)
{
    return (int32_t)((hash(key, size) & 0x7fffffffu) % (uint32_t)partition_count);
}

/* partition_for_key(buffer, partition_count) -> int */
PyObject *partition_for_key(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Py_buffer key;
    long partitions;
    int32_t partition;

    (void)module;
    if (count != 2) {
        PyErr_Format(PyExc_TypeError, "partition_for_key() takes 2 arguments (%zd given)", count);
        return NULL;
    }
    partitions = PyLong_AsLong(args[1]);
    if (partitions == -1 && PyErr_Occurred())
        return NULL;
    if (partitions < 1 || partitions > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "%ld partitions", partitions);
        return NULL;
    }
    if (PyObject_GetBuffer(args[0], &key, PyBUF_SIMPLE) < 0)
        return NULL;
    partition = partition_of(key.buf, key.len, (int32_t)partitions);
    PyBuffer_Release(&key);
    return PyLong_FromLong(partition);
}

/* partition_column(ends, data | None, first, rows, partition_count) -> bytearray of int32
 *
 * The first four are those of an Arrow large_binary; null rows count as empty.
 */
PyObject *partition_column(PyObject *module, PyObject *args)
{
    static const uint8_t nothing[1];
    Py_buffer ends, data = {.buf = NULL};
    PyObject *partitions = NULL, *of_data;
    Py_ssize_t first, rows;
    int partition_count, malformed = 0;

    (void)module;
    if (!PyArg_ParseTuple(args, "y*Onni:partition_column", &ends, &of_data, &first, &rows,
                          &partition_count))
        return NULL;
    if (of_data != Py_None && PyObject_GetBuffer(of_data, &data, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&ends);
        return NULL;
    }
    if (first < 0 || rows < 0 || first >= ends.len / 8 || rows > ends.len / 8 - first - 1 ||
        partition_count < 1)
        malformed = 1;
    else if ((partitions = PyByteArray_FromStringAndSize(NULL, 4 * rows)) != NULL) {
        uint8_t *out = (uint8_t *)PyByteArray_AsString(partitions);
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < rows && !malformed; i++) {
            int64_t range[2];
            memcpy(range, (const uint8_t *)ends.buf + 8 * (first + i), sizeof range);
            malformed = range[0] < 0 || range[1] < range[0] || range[1] > data.len;
            if (!malformed) {
                const uint8_t *key = data.buf != NULL ? (uint8_t *)data.buf + range[0] : nothing;
                Py_ssize_t size = (Py_ssize_t)(range[1] - range[0]);
                int32_t partition = partition_of(key, size, partition_count);
                memcpy(out + 4 * i, &partition, sizeof partition);
            }
        }
        Py_END_ALLOW_THREADS
    }
    if (of_data != Py_None)
        PyBuffer_Release(&data);
    PyBuffer_Release(&ends);
    if (malformed) {
        Py_XDECREF(partitions);
        PyErr_SetString(PyExc_ValueError, "no partitions for such keys");
        return NULL;
    }
    return partitions;
}
