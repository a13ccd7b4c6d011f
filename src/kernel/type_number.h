/* What a type says of itself in numbers, which the stable ABI tells in no other way. */
#ifndef BARNABAS_TYPE_NUMBER_H
#define BARNABAS_TYPE_NUMBER_H

#include "kernel.h"

/* An attribute such as __dictoffset__; -1 with an exception if there is none. */
static inline long type_number(PyTypeObject *type, const char *attribute)
{
    /* Interned, because Python remembers look-ups by the object that the name is. */
    PyObject *name = PyUnicode_InternFromString(attribute), *object;
    long number;

    if (name == NULL)
        return -1;
    object = PyObject_GetAttr((PyObject *)type, name);
    Py_DECREF(name);
    if (object == NULL)
        return -1;
    number = PyLong_AsLong(object);
    Py_DECREF(object);
    return number;
}

#endif
