/* The module barnabas.spark.decoding._json_kernel: JSON objects to Arrow columns.
 *
 * Plan(spec, Memory): a schema, described as in columns/arrow.h. The outermost node is a struct.
 *
 * Plan.decode(valid | None, ends, data | None, first, rows, starts, offsets, known_until)
 *     -> (is_unusual, columns)
 *
 * The values are an Arrow array of binary with 32-bit ends: its buffers, its offset and its length.
 * `starts` and `offsets` (int64) describe the session's time zone, see scan.h. `is_unusual` has a
 * byte for each value, 1 if Python has to decide about it: nothing of it is in the columns.
 * `columns` are described in columns/arrow.h.
 *
 * The rule for reading is that of kernel.h: what comes from outside is compared with what is there
 * before it is used. The loop needs no GIL.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../columns/arrow.h"
#include "../kernel_headers/add_type.h"
#include "../kernel_headers/utf8.h"
#include "convert.h"

/* Goes up whenever a function changes what it takes or gives, together with INTERFACE in
 * barnabas/spark/decoding/json_kernel.py. */
#define INTERFACE 1

/* -- a schema --------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    node *root;
    PyObject *memory_type;
    int is_busy;
    uint64_t objects; /* that were begun, in all values so far */
} Plan;

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *spec, *memory_type;
    Plan *plan;
    node *root;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);

    (void)named;
    if (!PyArg_ParseTuple(args, "OO", &spec, &memory_type))
        return NULL;
    root = node_of(spec);
    if (root == NULL)
        return NULL;
    if (root->kind != STRUCT || !root->is_built) {
        release(root);
        PyErr_SetString(PyExc_ValueError, "a value is a struct");
        return NULL;
    }
    plan = (Plan *)alloc(type, 0);
    if (plan == NULL) {
        release(root);
        return NULL;
    }
    plan->root = root;
    Py_INCREF(memory_type);
    plan->memory_type = memory_type;
    return (PyObject *)plan;
}

static void plan_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    release(((Plan *)self)->root);
    Py_XDECREF(((Plan *)self)->memory_type);
    free_object(self);
    Py_DECREF(type);
}

/* -- decoding --------------------------------------------------------------------------------- */

static int is_complete(const node *root, int64_t row)
{
    for (int i = 0; i < root->child_count; i++) {
        const node *n = root->children[i];
        if (n->is_required && n->is_built && !(n->valid.data[row >> 3] >> (row & 7) & 1))
            return 0;
    }
    return 1;
}

static int needs_value(const node *root)
{
    for (int i = 0; i < root->child_count; i++)
        if (root->children[i]->is_required)
            return 1;
    return 0;
}

static int decode_value(scan *s, node *root, const uint8_t *at, const uint8_t *end)
{
    s->at = at;
    s->end = end;
    s->has_others = 0;
    return peek(s) == '{' && convert_object(s, root, 1) && peek(s) == 0 && s->at == s->end &&
           (!s->has_others || is_utf8(at, end)) && is_complete(root, root->length - 1);
}

/* All values; 0 if there is no memory, or they are not what they should be. */
static int decode_values(scan *s, node *root, const uint8_t *valid, const uint8_t *ends,
                         const uint8_t *data, int64_t size, int64_t first, int64_t rows,
                         uint8_t *is_unusual)
{
    int has_required = needs_value(root);

    if (!start(root))
        return 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = first + i, length = root->length;
        int32_t from, to;
        int is_row;
        if (valid != NULL && !(valid[at >> 3] >> (at & 7) & 1)) {
            is_row = !has_required;
            if (is_row) {
                for (int j = 0; j < root->child_count; j++)
                    if (!append_null(root->children[j]))
                        return 0;
                if (!append_valid(root))
                    return 0;
            }
        } else {
            memcpy(&from, ends + at * 4, sizeof from);
            memcpy(&to, ends + (at + 1) * 4, sizeof to);
            if (from < 0 || to < from || to > size)
                return 0;
            is_row = decode_value(s, root, data + from, data + to);
            if (s->is_out_of_memory)
                return 0;
            if (!is_row)
                shorten(root, length);
        }
        is_unusual[i] = (uint8_t)!is_row;
    }
    return 1;
}

static PyObject *plan_decode(PyObject *self, PyObject *args)
{
    Plan *plan = (Plan *)self;
    PyObject *objects[5], *unusual = NULL, *columns = NULL, *result = NULL;
    Py_buffer views[5];
    long long first, rows, known_until;
    scan s;
    int is_done;

    memset(views, 0, sizeof views);
    memset(&s, 0, sizeof s);
    if (!PyArg_ParseTuple(args, "OOOLLOOL", &objects[0], &objects[1], &objects[2], &first, &rows,
                          &objects[3], &objects[4], &known_until))
        return NULL;
    if (plan->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "a plan is for one thread at a time");
        return NULL;
    }
    if (first < 0 || rows < 0 || first > INT32_MAX || rows > INT32_MAX || objects[1] == Py_None ||
        objects[3] == Py_None || objects[4] == Py_None) {
        PyErr_SetString(PyExc_ValueError, "there is no such array");
        return NULL;
    }
    if (!view_of(objects[0], &views[0], (first + rows + 7) / 8) ||
        !view_of(objects[1], &views[1], 4 * (first + rows + 1)) ||
        !view_of(objects[2], &views[2], 0) || !view_of(objects[3], &views[3], 0) ||
        !view_of(objects[4], &views[4], views[3].len))
        goto end;
    unusual = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)rows);
    columns = PyList_New(0);
    if (unusual == NULL || columns == NULL)
        goto end;
    s.starts = views[3].buf;
    s.offsets = views[4].buf;
    s.zone_count = views[3].len / 8;
    s.known_until = known_until;
    plan->is_busy = 1;
    {
        uint8_t *is_unusual = (uint8_t *)PyBytes_AsString(unusual);
        const uint8_t *valid = views[0].buf, *ends = views[1].buf;
        const uint8_t *data = views[2].buf != NULL ? views[2].buf : (const uint8_t *)"";
        s.objects = plan->objects;
        Py_BEGIN_ALLOW_THREADS
        is_done = decode_values(&s, plan->root, valid, ends, data, views[2].len, first, rows,
                                is_unusual);
        Py_END_ALLOW_THREADS
        plan->objects = s.objects;
    }
    plan->is_busy = 0;
    free(s.text.data);
    if (!is_done) {
        PyErr_NoMemory();
        goto end;
    }
    if (add_columns(plan->memory_type, plan->root, columns))
        result = Py_BuildValue("OO", unusual, columns);
end:
    for (int i = 0; i < 5; i++)
        if (views[i].obj != NULL)
            PyBuffer_Release(&views[i]);
    Py_XDECREF(unusual);
    Py_XDECREF(columns);
    return result;
}

static PyMethodDef plan_methods[] = {
    {"decode", plan_decode, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot plan_slots[] = {
    {Py_tp_new, plan_new},
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_methods, plan_methods},
    {Py_tp_doc, "A schema."},
    {0, NULL},
};

static PyType_Spec plan_spec = {
    .name = "barnabas.spark.decoding._json_kernel.Plan",
    .basicsize = sizeof(Plan),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = plan_slots,
};

static int execute(PyObject *module)
{
    if (add_type(module, "Memory", &memory_spec) < 0 || add_type(module, "Plan", &plan_spec) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_json_kernel",
    .m_doc = "Described in barnabas/spark/decoding/json_kernel.py.",
    .m_methods = NULL,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__json_kernel(void)
{
    return PyModuleDef_Init(&definition);
}
