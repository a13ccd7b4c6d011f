/* The module barnabas.records._kernel. */
#include "kernel.h"

static PyMethodDef methods[] = {
    {"decode_rows", decode_rows, METH_VARARGS, NULL},
    {"encode_rows", encode_rows, METH_VARARGS, NULL},
    {"decode_columns", decode_columns, METH_VARARGS, NULL},
    {"encode_columns", encode_columns, METH_VARARGS, NULL},
    {"murmur2", murmur2, METH_O, NULL},
    {"partition_column", partition_column, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
    return PyModule_AddIntConstant(module, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_kernel",
    .m_doc = "Described in barnabas/records/kernel.py.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    return PyModuleDef_Init(&definition);
}
