#include "arrow.h"

#define MAX_SCHEMA_DEPTH 64
#define IS_BUILT 1
#define IS_REQUIRED 2

/* -- memory that Arrow keeps ------------------------------------------------------------------ */

typedef struct {
    PyObject_HEAD
    uint8_t *data;
    Py_ssize_t size;
} Memory;

static void memory_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    free(((Memory *)self)->data);
    free_object(self);
    Py_DECREF(type);
}

static int memory_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    Memory *m = (Memory *)self;

    return PyBuffer_FillInfo(view, self, m->data, m->size, 1, flags);
}

static PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, memory_dealloc},
    {Py_bf_getbuffer, memory_getbuffer},
    {Py_tp_doc, "Memory of a column."},
    {0, NULL},
};

PyType_Spec memory_spec = {
    .name = "barnabas.Memory",
    .basicsize = sizeof(Memory),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = memory_slots,
};

/* The memory changes its owner. */
static PyObject *given_away(PyObject *type, growing *g)
{
    Memory *m;
    allocfunc alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);

    if (g->data == NULL && !grow(g, 1))
        return PyErr_NoMemory();
    m = (Memory *)alloc((PyTypeObject *)type, 0);
    if (m == NULL)
        return NULL;
    m->data = g->data;
    m->size = (Py_ssize_t)g->bytes;
    g->hint = g->bytes + g->bytes / 8;
    g->data = NULL;
    g->bytes = g->room = 0;
    return (PyObject *)m;
}

/* -- columns as Python describes them ---------------------------------------------------------- */

static node *node_at(PyObject *spec, int depth)
{
    int kind, flags, precision, scale;
    Py_ssize_t name_size, count;
    const char *name;
    PyObject *children;
    node *n;

    if (depth > MAX_SCHEMA_DEPTH) {
        PyErr_SetString(PyExc_ValueError, "the schema is nested too deeply");
        return NULL;
    }
    if (!PyTuple_Check(spec) || !PyArg_ParseTuple(spec, "iiiiy#O!", &kind, &flags, &precision,
                                                  &scale, &name, &name_size, &PyTuple_Type,
                                                  &children)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a node is a tuple");
        return NULL;
    }
    count = PyTuple_Size(children);
    if (kind < 0 || kind >= KINDS || precision < 0 || precision > 38 || scale < 0 || scale > 38 ||
        count > INT32_MAX / 2 || (kind == LIST && count != 1) || (kind == MAP && count != 2) ||
        (kind < STRUCT && count != 0)) {
        PyErr_SetString(PyExc_ValueError, "there is no such node");
        return NULL;
    }
    n = calloc(1, sizeof *n);
    if (n == NULL)
        return (node *)PyErr_NoMemory();
    n->kind = (enum kind)kind;
    n->is_built = (flags & IS_BUILT) != 0;
    n->is_required = (flags & IS_REQUIRED) != 0;
    n->precision = precision;
    n->scale = scale;
    n->name = malloc((size_t)name_size + 1);
    n->children = calloc((size_t)count + 1, sizeof *n->children);
    if (n->name == NULL || n->children == NULL) {
        release(n);
        return (node *)PyErr_NoMemory();
    }
    memcpy(n->name, name, (size_t)name_size);
    n->name_size = (size_t)name_size;
    for (Py_ssize_t i = 0; i < count; i++) {
        node *child = node_at(PyTuple_GetItem(children, i), depth + 1);
        if (child == NULL) {
            release(n);
            return NULL;
        }
        /* Ends are counted by what is below; nothing is built below what is not. */
        if (n->kind == STRUCT ? child->is_built && !n->is_built : child->is_built != n->is_built) {
            PyErr_SetString(PyExc_ValueError, "a part is built, and what it is a part of is not");
            release(child);
            release(n);
            return NULL;
        }
        n->children[n->child_count++] = child;
    }
    if (n->kind == MAP && n->children[0]->kind != STRING) {
        PyErr_SetString(PyExc_ValueError, "keys of maps are strings");
        release(n);
        return NULL;
    }
    return n;
}

node *node_of(PyObject *spec)
{
    return node_at(spec, 0);
}

/* -- to Python and from there ------------------------------------------------------------------ */

int add_columns(PyObject *type, node *n, PyObject *list)
{
    PyObject *parts[3] = {NULL, NULL, NULL}, *column = NULL;
    growing *all[3] = {&n->valid, &n->ends, &n->data};
    int is_added = 0;

    if (!n->is_built)
        return 1;
    for (int i = 0; i < 3; i++) {
        int is_wanted = i == 0 ? n->nulls > 0 : i == 1 ? has_ends(n) : n->kind < STRUCT;
        parts[i] = is_wanted ? given_away(type, all[i]) : Py_NewRef(Py_None);
        if (parts[i] == NULL)
            goto end;
    }
    column = Py_BuildValue("LLOOO", (long long)n->length, (long long)n->nulls, parts[0], parts[1],
                           parts[2]);
    if (column == NULL || PyList_Append(list, column) < 0)
        goto end;
    is_added = 1;
    for (int i = 0; i < n->child_count && is_added; i++)
        is_added = add_columns(type, n->children[i], list);
end:
    Py_XDECREF(column);
    for (int i = 0; i < 3; i++)
        Py_XDECREF(parts[i]);
    return is_added;
}

/* A buffer, of at least so many bytes; None is empty. */
int view_of(PyObject *object, Py_buffer *view, int64_t least)
{
    if (object == Py_None)
        memset(view, 0, sizeof *view);
    else if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) < 0)
        return 0;
    if (object != Py_None && view->len < least) {
        PyErr_SetString(PyExc_ValueError, "a buffer is too short");
        return 0;
    }
    return 1;
}
