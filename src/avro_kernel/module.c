/* The module barnabas.formats.arrow._avro_kernel: Avro values to Arrow columns.
 *
 * Plan(spec, Memory): columns, described as in columns/arrow.h. The outermost node is a struct.
 *
 * Plan.add(steps): the next program, a tuple of (op, column, argument, parts, data, symbols), as
 * Step in avro_program.py. Columns are counted parents first, with those that are not built.
 *
 * Plan.decode(valid | None, ends, data | None, first, rows, programs, header)
 *     -> (is_refused, columns)
 *
 * The values are an Arrow array of binary with 32-bit ends: its buffers, its offset and its length.
 * `programs` (int32) has the program of each value, or -1 for one that is refused unread; `header`
 * is how many bytes there are before the data. `is_refused` has a byte for each value, 1 if nothing
 * of it is in the columns.
 *
 * The rule for reading is that of kernel.h: what comes from outside is compared with what is there
 * before it is used. The loop needs no GIL.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../columns/arrow.h"
#include "../kernel_headers/add_type.h"
#include "program.h"

/* Goes up whenever a function changes what it takes or gives, together with INTERFACE in
 * barnabas/formats/arrow/avro_kernel.py. */
#define INTERFACE 1

typedef struct {
    PyObject_HEAD
    node *root;
    node **nodes; /* all, parents first */
    int32_t node_count;
    program *programs;
    int32_t program_count;
    PyObject *memory_type;
    int is_busy;
} Plan;

static int32_t count_of(const node *n)
{
    int32_t found = 1;

    for (int i = 0; i < n->child_count; i++)
        found += count_of(n->children[i]);
    return found;
}

static node **listed(node *n, node **at)
{
    *at++ = n;
    for (int i = 0; i < n->child_count; i++)
        at = listed(n->children[i], at);
    return at;
}

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
    plan->node_count = count_of(root);
    plan->nodes = calloc((size_t)plan->node_count, sizeof *plan->nodes);
    if (plan->nodes == NULL) {
        Py_DECREF((PyObject *)plan);
        return PyErr_NoMemory();
    }
    listed(root, plan->nodes);
    return (PyObject *)plan;
}

static void plan_dealloc(PyObject *self)
{
    Plan *plan = (Plan *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    for (int32_t i = 0; i < plan->program_count; i++)
        release_program(&plan->programs[i]);
    free(plan->programs);
    free(plan->nodes);
    release(plan->root);
    Py_XDECREF(plan->memory_type);
    free_object(self);
    Py_DECREF(type);
}

/* -- programs --------------------------------------------------------------------------------- */

static uint8_t *copy_of(const char *bytes, Py_ssize_t size)
{
    uint8_t *copy = malloc((size_t)size + 1);

    if (copy == NULL)
        PyErr_NoMemory();
    else
        memcpy(copy, bytes, (size_t)size);
    return copy;
}

static int fill_symbols(step *s, PyObject *symbols)
{
    Py_ssize_t count = PyTuple_Size(symbols);

    if (count > INT32_MAX / 2) {
        PyErr_SetString(PyExc_ValueError, "there are too many symbols");
        return 0;
    }
    s->symbols = calloc((size_t)count + 1, sizeof *s->symbols);
    if (s->symbols == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (s->symbol_count = 0; s->symbol_count < count; s->symbol_count++) {
        PyObject *each = PyTuple_GetItem(symbols, s->symbol_count);
        symbol *found = &s->symbols[s->symbol_count];
        char *bytes;
        Py_ssize_t size;
        if (each == Py_None)
            continue;
        if (PyBytes_AsStringAndSize(each, &bytes, &size) < 0)
            return 0;
        found->data = copy_of(bytes, size);
        found->size = (size_t)size;
        if (found->data == NULL)
            return 0;
    }
    return 1;
}

static int fill_parts(step *s, PyObject *parts, int32_t steps)
{
    Py_ssize_t count = PyTuple_Size(parts);
    int needs_one = s->op == READ_ARRAY || s->op == READ_MAP || s->op == READ_MEMBER ||
                    s->op == READ_DEFAULT;

    if (count > INT32_MAX / 2 || (needs_one && count != 1)) {
        PyErr_SetString(PyExc_ValueError, "a step has other parts");
        return 0;
    }
    s->parts = calloc((size_t)count + 1, sizeof *s->parts);
    if (s->parts == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (s->part_count = 0; s->part_count < count; s->part_count++) {
        long part = PyLong_AsLong(PyTuple_GetItem(parts, s->part_count));
        if (part < 0 || part >= steps) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "there is no such step");
            return 0;
        }
        s->parts[s->part_count] = (int32_t)part;
    }
    return 1;
}

static int fill_step(const Plan *plan, step *s, PyObject *given, int32_t steps)
{
    int op, column;
    long long argument;
    const char *data;
    Py_ssize_t size;
    PyObject *parts, *symbols;

    if (!PyTuple_Check(given) ||
        !PyArg_ParseTuple(given, "iiLO!y#O!", &op, &column, &argument, &PyTuple_Type, &parts, &data,
                          &size, &PyTuple_Type, &symbols)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a step is a tuple");
        return 0;
    }
    if (op < 0 || op >= OPS || column < -1 || column >= plan->node_count || argument < -INT32_MAX ||
        argument > INT32_MAX || (op == READ_FIXED && argument < 0)) {
        PyErr_SetString(PyExc_ValueError, "there is no such step");
        return 0;
    }
    s->op = (enum op)op;
    s->column = column < 0 ? NULL : plan->nodes[column];
    s->argument = argument;
    s->data = copy_of(data, size);
    s->size = (size_t)size;
    return s->data != NULL && fill_parts(s, parts, steps) && fill_symbols(s, symbols);
}

static PyObject *plan_add(PyObject *self, PyObject *args)
{
    Plan *plan = (Plan *)self;
    PyObject *steps;
    Py_ssize_t count;
    program made = {NULL, 0}, *more;

    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &steps))
        return NULL;
    count = PyTuple_Size(steps);
    if (count < 1 || count > INT32_MAX / 2) {
        PyErr_SetString(PyExc_ValueError, "a program has steps");
        return NULL;
    }
    if (plan->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "a plan is for one thread at a time");
        return NULL;
    }
    made.steps = calloc((size_t)count, sizeof *made.steps);
    if (made.steps == NULL)
        return PyErr_NoMemory();
    made.count = (int32_t)count;
    for (int32_t i = 0; i < made.count; i++)
        if (!fill_step(plan, &made.steps[i], PyTuple_GetItem(steps, i), made.count)) {
            release_program(&made);
            return NULL;
        }
    more = realloc(plan->programs, sizeof *more * ((size_t)plan->program_count + 1));
    if (more == NULL) {
        release_program(&made);
        return PyErr_NoMemory();
    }
    plan->programs = more;
    plan->programs[plan->program_count++] = made;
    Py_RETURN_NONE;
}

/* -- decoding --------------------------------------------------------------------------------- */

static int append_row_of_nulls(node *root)
{
    for (int i = 0; i < root->child_count; i++)
        if (!append_null(root->children[i]))
            return 0;
    return append_valid(root);
}

static int needs_value(const node *root)
{
    for (int i = 0; i < root->child_count; i++)
        if (root->children[i]->is_required)
            return 1;
    return 0;
}

/* An Arrow array of values, and which program reads each. */
typedef struct {
    const uint8_t *valid;
    const uint8_t *ends;
    const uint8_t *data;
    int64_t size;
    int64_t first;
    int64_t rows;
    const uint8_t *programs;
    int64_t header;
} array;

/* All values; 0 if there is no memory, or they are not what they should be. */
static int decode_values(const Plan *plan, const array *a, uint8_t *is_refused)
{
    node *root = plan->root;
    int has_required = needs_value(root);
    reading r;

    memset(&r, 0, sizeof r);
    if (!start(root))
        return 0;
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t at = a->first + i, length = root->length;
        int32_t from, to, number;
        int is_row = 0;
        if (a->valid != NULL && !(a->valid[at >> 3] >> (at & 7) & 1)) {
            is_row = !has_required;
            if (is_row && !append_row_of_nulls(root))
                return 0;
            is_refused[i] = (uint8_t)!is_row;
            continue;
        }
        memcpy(&from, a->ends + at * 4, sizeof from);
        memcpy(&to, a->ends + (at + 1) * 4, sizeof to);
        memcpy(&number, a->programs + i * 4, sizeof number);
        if (from < 0 || to < from || to > a->size || number >= plan->program_count)
            return 0;
        if (number >= 0 && to - from >= a->header)
            is_row = read_value(&r, &plan->programs[number], a->data + from + a->header,
                                a->data + to);
        if (r.is_out_of_memory)
            return 0;
        if (is_row && root->length != length + 1)
            return 0; /* no program that reads a whole value */
        if (!is_row)
            shorten(root, length);
        is_refused[i] = (uint8_t)!is_row;
    }
    return 1;
}

static PyObject *plan_decode(PyObject *self, PyObject *args)
{
    Plan *plan = (Plan *)self;
    PyObject *objects[4], *refused = NULL, *columns = NULL, *result = NULL;
    Py_buffer views[4];
    long long first, rows, header;
    int is_done;

    memset(views, 0, sizeof views);
    if (!PyArg_ParseTuple(args, "OOOLLOL", &objects[0], &objects[1], &objects[2], &first, &rows,
                          &objects[3], &header))
        return NULL;
    if (plan->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "a plan is for one thread at a time");
        return NULL;
    }
    if (first < 0 || rows < 0 || first > INT32_MAX || rows > INT32_MAX || header < 0 ||
        header > INT32_MAX || objects[1] == Py_None || objects[3] == Py_None) {
        PyErr_SetString(PyExc_ValueError, "there is no such array");
        return NULL;
    }
    if (!view_of(objects[0], &views[0], (first + rows + 7) / 8) ||
        !view_of(objects[1], &views[1], 4 * (first + rows + 1)) ||
        !view_of(objects[2], &views[2], 0) || !view_of(objects[3], &views[3], 4 * rows))
        goto end;
    refused = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)rows);
    columns = PyList_New(0);
    if (refused == NULL || columns == NULL)
        goto end;
    {
        uint8_t *is_refused = (uint8_t *)PyBytes_AsString(refused);
        array a = {views[0].buf,
                   views[1].buf,
                   views[2].buf != NULL ? views[2].buf : (const uint8_t *)"",
                   views[2].len,
                   first,
                   rows,
                   views[3].buf,
                   header};
        plan->is_busy = 1;
        Py_BEGIN_ALLOW_THREADS
        is_done = decode_values(plan, &a, is_refused);
        Py_END_ALLOW_THREADS
        plan->is_busy = 0;
    }
    if (!is_done) {
        PyErr_NoMemory();
        goto end;
    }
    if (add_columns(plan->memory_type, plan->root, columns))
        result = Py_BuildValue("OO", refused, columns);
end:
    for (int i = 0; i < 4; i++)
        if (views[i].obj != NULL)
            PyBuffer_Release(&views[i]);
    Py_XDECREF(refused);
    Py_XDECREF(columns);
    return result;
}

static PyMethodDef plan_methods[] = {
    {"add", plan_add, METH_VARARGS, NULL},
    {"decode", plan_decode, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot plan_slots[] = {
    {Py_tp_new, plan_new},
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_methods, plan_methods},
    {Py_tp_doc, "Columns, and programs that fill them."},
    {0, NULL},
};

static PyType_Spec plan_spec = {
    .name = "barnabas.formats.arrow._avro_kernel.Plan",
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
    .m_name = "_avro_kernel",
    .m_doc = "Described in barnabas/formats/arrow/avro_kernel.py.",
    .m_methods = NULL,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__avro_kernel(void)
{
    return PyModuleDef_Init(&definition);
}
