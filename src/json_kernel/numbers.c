/* Numbers of JSON as machine numbers, and as Java writes them. */
#include <locale.h>
#include <stdio.h>

#include "scan.h"

#define EXACT_DIGITS 15   /* decimal digits that a double holds, whatever they are */
#define MAX_LONG_DIGITS 18 /* that an int64 holds */
#define ROOM 64

static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

int int64_of(const number *n, int64_t *value)
{
    const uint8_t *at = n->data + n->is_negative;
    uint64_t found = 0;

    if (n->is_float || n->whole_digits > MAX_LONG_DIGITS + 1)
        return 0;
    for (size_t i = 0; i < n->whole_digits; i++)
        found = found * 10 + (at[i] - '0'); /* 19 digits fit unsigned */
    if (found > (uint64_t)INT64_MAX + (uint64_t)n->is_negative)
        return 0;
    *value = n->is_negative ? (int64_t)(0 - found) : (int64_t)found;
    return 1;
}

/* The digits as one number, without the point; at most 18 of them. */
static uint64_t digits_of(const number *n)
{
    const uint8_t *at = n->data + n->is_negative;
    size_t size = n->whole_digits + (n->fraction_digits > 0 ? n->fraction_digits + 1 : 0);
    uint64_t found = 0;

    for (size_t i = 0; i < size; i++)
        if (at[i] != '.')
            found = found * 10 + (at[i] - '0');
    return found;
}

/* As C's functions read it, which round correctly; not in a locale with another decimal point. */
static int copy_of(const number *n, char *copy)
{
    if (n->size >= ROOM)
        return 0;
    memcpy(copy, n->data, n->size);
    copy[n->size] = 0;
    return 1;
}

int double_of(const number *n, double *value)
{
    char copy[ROOM], *stop;

    if (!n->is_float && n->whole_digits <= MAX_LONG_DIGITS) {
        int64_t whole;
        if (!int64_of(n, &whole))
            return 0;
        *value = (double)whole;
        return 1;
    }
    if (!n->has_exponent && n->whole_digits + n->fraction_digits <= EXACT_DIGITS) {
        /* Two exact numbers: their quotient is rounded once. */
        double found = (double)digits_of(n) / POWERS[n->fraction_digits];
        *value = n->is_negative ? -found : found;
        return 1;
    }
    if (!copy_of(n, copy))
        return 0;
    *value = strtod(copy, &stop);
    return stop == copy + n->size;
}

int float_of(const number *n, float *value)
{
    char copy[ROOM], *stop;

    if (!n->is_float) {
        int64_t whole;
        if (n->whole_digits > MAX_LONG_DIGITS || !int64_of(n, &whole))
            return 0;
        *value = (float)whole;
        return 1;
    }
    if (!copy_of(n, copy))
        return 0;
    *value = strtof(copy, &stop);
    return stop == copy + n->size;
}
