/* Receipt: a batch, the index of a record in it, and the record's timestamp.
 *
 * Only RowPacker.add fills one. Others can make one, as they can of any type; its batch is then an
 * AttributeError.
 *
 * The garbage collector hears of a receipt only when somebody asks for its batch: before that, the
 * batch can't lead back to it. (Nor can the receipt itself: it has no other attributes.) Its visits, again and again, would make an application three times
 * as slow that just keeps its receipts.
 */
#include "receipt.h"
#include "type_number.h"

#include <structmember.h>

static int receipt_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((receipt *)self)->batch);
    return 0;
}

static int receipt_clear(PyObject *self)
{
    Py_CLEAR(((receipt *)self)->batch);
    return 0;
}

static void receipt_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    receipt_clear(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

int is_receipt_type(PyTypeObject *type)
{
    PyTypeObject *base = type;

    /* Subclasses have a way to be freed that is their own, so only Receipt itself has this one. It
     * is looked for among the bases that a layout comes from. */
    while (base != NULL && PyType_GetSlot(base, Py_tp_dealloc) != (void *)receipt_dealloc)
        base = PyType_GetSlot(base, Py_tp_base);
    /* With nothing else in it, a receipt can't lead to itself but by its batch. */
    return base != NULL && type_number(type, "__basicsize__") == (long)sizeof(receipt) &&
           type_number(type, "__dictoffset__") == 0;
}

static PyObject *receipt_batch(PyObject *self, void *unused)
{
    PyObject *batch = ((receipt *)self)->batch;

    (void)unused;
    if (batch == NULL) {
        PyErr_SetString(PyExc_AttributeError, "batch");
        return NULL;
    }
    if (!PyObject_GC_IsTracked(self))
        PyObject_GC_Track(self);
    Py_INCREF(batch);
    return batch;
}

static PyGetSetDef getters[] = {
    {"batch", receipt_batch, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"index", T_PYSSIZET, offsetof(receipt, index), READONLY, NULL},
    {"timestamp_ms", T_LONGLONG, offsetof(receipt, timestamp_ms), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Described in barnabas/client/producer/row_packer.py."},
    {Py_tp_traverse, receipt_traverse},
    {Py_tp_clear, receipt_clear},
    {Py_tp_dealloc, receipt_dealloc},
    {Py_tp_getset, getters},
    {Py_tp_members, members},
    {0, NULL},
};

PyType_Spec receipt_spec = {
    .name = "barnabas.records._kernel.Receipt",
    .basicsize = sizeof(receipt),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
