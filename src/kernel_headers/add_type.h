/* Adds a type to a module, by its specification. */
#ifndef BARNABAS_ADD_TYPE_H
#define BARNABAS_ADD_TYPE_H

#include <Python.h>

static inline int add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    int result = type == NULL ? -1 : PyModule_AddObjectRef(module, name, type);

    Py_XDECREF(type);
    return result;
}

#endif
