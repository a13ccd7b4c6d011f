/* Arrow columns that grow: one node for each column, and for each part of a nested one.
 *
 * A node's length is all that is needed to take back what was appended since it was shorter: ends
 * say where data ended then, and how long the nodes below were. So a row that turns out to be
 * unusual is taken back without a snapshot.
 */
#ifndef BARNABAS_COLUMNS_H
#define BARNABAS_COLUMNS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    BOOLEAN,
    INT8,
    INT16,
    INT32,
    INT64,
    FLOAT32,
    FLOAT64,
    STRING,
    BINARY,
    DATE,          /* int32, days */
    TIMESTAMP,     /* int64, microseconds */
    TIMESTAMP_NTZ, /* the same, of a local time */
    DECIMAL,       /* 128 bits */
    STRUCT,        /* a child for each field */
    LIST,          /* a child: the elements */
    MAP,           /* two children: keys and values */
    KINDS,
};

/* Memory that grows; `bytes` of it are in use. */
typedef struct {
    uint8_t *data;
    size_t bytes;
    size_t room;
    size_t hint; /* what it took the last time */
} growing;

typedef struct node node;

struct node {
    enum kind kind;
    int is_built;    /* otherwise values are only checked */
    int is_required; /* of a column of the value itself */
    int precision;   /* of decimals */
    int scale;
    uint8_t *name; /* of a field */
    size_t name_size;
    node **children;
    int child_count;
    uint64_t seen_in; /* the last object in which this field was found */
    int64_t length;
    int64_t nulls;
    growing valid; /* a bitmap, lowest bit first */
    growing ends;  /* int32, one more than values */
    growing data;
};

int grow(growing *g, size_t by);

/* 0 if there is no memory, or a column got too long for its 32-bit ends. */
int append_null(node *n);
int append_valid(node *n); /* only the bit: the value is appended by the caller, before or after */
int append_fixed(node *n, const void *value, size_t size);
int append_bit(node *n, int bit);
int append_end(node *n, int64_t end);
int append_bytes(node *n, const uint8_t *bytes, size_t size);

void shorten(node *n, int64_t length);
int start(node *n); /* makes it empty */
void release(node *n);

static inline int is_nested(const node *n)
{
    return n->kind >= STRUCT;
}

static inline int has_ends(const node *n)
{
    return n->kind == STRING || n->kind == BINARY || n->kind == LIST || n->kind == MAP;
}

static inline size_t width_of(enum kind kind)
{
    switch (kind) {
    case INT8:
        return 1;
    case INT16:
        return 2;
    case INT32:
    case FLOAT32:
    case DATE:
        return 4;
    case INT64:
    case FLOAT64:
    case TIMESTAMP:
    case TIMESTAMP_NTZ:
        return 8;
    case DECIMAL:
        return 16;
    default:
        return 0;
    }
}

#endif
