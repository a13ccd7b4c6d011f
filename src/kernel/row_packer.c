/* RowPacker: an open batch, into which records are encoded as they come.
 *
 * RowPacker(receipt_type, max_bytes=MAX_BATCH_BYTES, max_records=MAX_BATCH_BYTES)
 * add(timestamp_ms | None, key, value, headers) -> receipt | None
 * close()
 * take() -> (bytearray, record_count, base_timestamp, max_timestamp)
 *
 * Many threads add to one packer without a lock. That is right because `add` makes its receipt
 * first, which may collect garbage and so run anything, and does the rest in one go, with nothing
 * in it that runs Python code or lets go of the GIL.
 *
 * The buffer is nobody else's until it is taken. It has room for the batch's header before the
 * records, and is longer than what is in it.
 */
#include "receipt.h"
#include "take.h"

#include <structmember.h>
#include <time.h>

#define HEADER_SIZE 61
#define MAX_BATCH_BYTES INT32_MAX
#define FIRST_CAPACITY 4096

typedef struct {
    PyObject_HEAD
    PyTypeObject *receipt_type;
    allocfunc allocate;
    PyObject *buffer; /* a bytearray; NULL before there is a record, and once it was taken */
    uint8_t *data;
    int64_t capacity;
    int64_t size; /* the header's room included */
    long long max_bytes;
    long long max_records;
    Py_ssize_t record_count;
    int64_t base_timestamp;
    int64_t max_timestamp;
    char is_open; /* not so before __init__ */
} packer;

static int packer_init(PyObject *object, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"receipt_type", "max_bytes", "max_records", NULL};
    packer *self = (packer *)object;
    long long max_bytes = MAX_BATCH_BYTES, max_records = MAX_BATCH_BYTES;
    PyObject *type;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!|LL:RowPacker", names, &PyType_Type, &type,
                                     &max_bytes, &max_records))
        return -1;
    if (!is_receipt_type((PyTypeObject *)type)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError,
                            "receipt_type is a subclass of Receipt, with empty slots");
        return -1;
    }
    if (self->receipt_type != NULL) {
        PyErr_SetString(PyExc_TypeError, "a batch begins once");
        return -1;
    }
    Py_INCREF(type);
    self->receipt_type = (PyTypeObject *)type;
    self->allocate = (allocfunc)PyType_GetSlot(self->receipt_type, Py_tp_alloc);
    self->size = HEADER_SIZE;
    self->max_bytes = max_bytes;
    self->max_records = max_records;
    self->is_open = 1;
    return 0;
}

static int packer_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((packer *)self)->receipt_type);
    return 0;
}

static int packer_clear(PyObject *object)
{
    packer *self = (packer *)object;

    self->is_open = 0;
    Py_CLEAR(self->buffer);
    Py_CLEAR(self->receipt_type);
    return 0;
}

static void packer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    packer_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static int64_t now_ms(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* 0 if it is not usual. */
static int take_timestamp(PyObject *object, int64_t *timestamp)
{
    if (object == Py_None) {
        *timestamp = now_ms();
        return 1;
    }
    if (!PyLong_CheckExact(object))
        return 0;
    *timestamp = PyLong_AsLongLong(object);
    return *timestamp >= 0;
}

/* Room for so many bytes more; 0 with a MemoryError. */
static int make_room(packer *self, int64_t size)
{
    int64_t capacity = self->capacity > 0 ? self->capacity : FIRST_CAPACITY;

    while (capacity - self->size < size)
        capacity *= 2;
    if (self->buffer == NULL) {
        self->buffer = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)capacity);
        if (self->buffer == NULL)
            return 0;
        memset(PyByteArray_AsString(self->buffer), 0, HEADER_SIZE);
    } else if (PyByteArray_Resize(self->buffer, (Py_ssize_t)capacity) < 0) {
        return 0;
    }
    self->capacity = capacity;
    self->data = (uint8_t *)PyByteArray_AsString(self->buffer);
    return 1;
}

/* Encode a record and fill its receipt; 0, with a MemoryError or anything else, if not. */
static int add_record(packer *self, PyObject *const *args, receipt *given)
{
    int64_t timestamp, delta, header_count, headers_size, length, size;
    span key, value;
    uint8_t *at;

    if (!self->is_open || self->record_count >= self->max_records ||
        !take_timestamp(args[0], &timestamp) || !take_bytes(args[1], &key) ||
        !take_bytes(args[2], &value))
        return 0;
    headers_size = take_headers(args[3], &header_count);
    if (headers_size < 0 || key.size > MAX_PAYLOAD_BYTES || value.size > MAX_PAYLOAD_BYTES)
        return 0;
    /* No overflow: neither is negative. */
    delta = self->record_count > 0 ? timestamp - self->base_timestamp : 0;
    length = headers_size +
             record_size(delta, self->record_count, key.size, value.size, header_count);
    size = varint_size(length) + length;
    if (self->size + size > MAX_BATCH_BYTES || self->size + size > self->max_bytes)
        return 0;
    if (size > self->capacity - self->size && !make_room(self, size))
        return 0;
    at = write_record(self->data + self->size, length, delta, self->record_count, key, value,
                      header_count);
    if (write_headers(at, args[3], header_count) == NULL)
        return 0;
    if (self->record_count == 0)
        self->base_timestamp = timestamp;
    if (self->record_count == 0 || timestamp > self->max_timestamp)
        self->max_timestamp = timestamp;
    Py_INCREF((PyObject *)self);
    given->batch = (PyObject *)self;
    given->index = self->record_count;
    given->timestamp_ms = timestamp;
    self->record_count++;
    self->size += size;
    return 1;
}

static PyObject *packer_add(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    packer *self = (packer *)object;
    PyObject *given;

    if (count != 4) {
        PyErr_Format(PyExc_TypeError, "add() takes 4 arguments (%zd given)", count);
        return NULL;
    }
    if (!self->is_open)
        Py_RETURN_NONE;
    given = self->allocate(self->receipt_type, 0);
    if (given == NULL)
        return NULL;
    PyObject_GC_UnTrack(given); /* receipt.c tells why */
    if (add_record(self, args, (receipt *)given))
        return given;
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_MemoryError))
        PyErr_Clear(); /* Python will say it in its own words. */
    Py_DECREF(given);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *packer_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    ((packer *)self)->is_open = 0;
    Py_RETURN_NONE;
}

static PyObject *packer_take(PyObject *object, PyObject *unused)
{
    packer *self = (packer *)object;
    PyObject *buffer = self->buffer;
    Py_ssize_t count = self->record_count;

    (void)unused;
    self->is_open = 0;
    if (buffer == NULL || count == 0) {
        PyErr_SetString(PyExc_ValueError, "a batch needs at least one record");
        return NULL;
    }
    if (PyByteArray_Resize(buffer, (Py_ssize_t)self->size) < 0)
        return NULL;
    self->buffer = NULL;
    self->data = NULL;
    self->capacity = 0;
    self->record_count = 0;
    return Py_BuildValue("(NnLL)", buffer, count, (long long)self->base_timestamp,
                         (long long)self->max_timestamp);
}

static PyObject *packer_closed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(!((packer *)self)->is_open);
}

static PyMethodDef methods[] = {
    {"add", (PyCFunction)(void (*)(void))packer_add, METH_FASTCALL, NULL},
    {"close", packer_close, METH_NOARGS, NULL},
    {"take", packer_take, METH_NOARGS, NULL},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"max_bytes", T_LONGLONG, offsetof(packer, max_bytes), 0, NULL},
    {"max_records", T_LONGLONG, offsetof(packer, max_records), 0, NULL},
    {"size", T_LONGLONG, offsetof(packer, size), READONLY, NULL},
    {"record_count", T_PYSSIZET, offsetof(packer, record_count), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getters[] = {
    {"closed", packer_closed, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Described in barnabas/client/producer/row_packer.py."},
    {Py_tp_init, packer_init},
    {Py_tp_traverse, packer_traverse},
    {Py_tp_clear, packer_clear},
    {Py_tp_dealloc, packer_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, getters},
    {0, NULL},
};

PyType_Spec row_packer_spec = {
    .name = "barnabas.records._kernel.RowPacker",
    .basicsize = sizeof(packer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
