/* The module barnabas.records._kernel. */
#include "kernel.h"

#include "../kernel_headers/add_type.h"

#define FASTCALL(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"check_records", FASTCALL(check_records), METH_FASTCALL, NULL},
    {"find_records", FASTCALL(find_records), METH_FASTCALL, NULL},
    {"decode_rows", decode_rows, METH_VARARGS, NULL},
    {"decode_messages", decode_messages, METH_VARARGS, NULL},
    {"encode_rows", encode_rows, METH_VARARGS, NULL},
    {"decode_columns", decode_columns, METH_VARARGS, NULL},
    {"encode_columns", encode_columns, METH_VARARGS, NULL},
    {"murmur2", murmur2, METH_O, NULL},
    {"partition_for_key", FASTCALL(partition_for_key), METH_FASTCALL, NULL},
    {"partition_column", partition_column, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
    if (add_type(module, "Receipt", &receipt_spec) < 0 ||
        add_type(module, "RowPacker", &row_packer_spec) < 0)
        return -1;
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
