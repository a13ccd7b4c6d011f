#include "columns.h"

static const uint8_t ZEROS[16];

int grow(growing *g, size_t by)
{
    size_t needed = g->bytes + by, room;
    uint8_t *data;

    if (needed <= g->room)
        return 1;
    room = needed + needed / 2;
    if (room < g->hint)
        room = g->hint;
    if (room < 64)
        room = 64;
    data = realloc(g->data, room);
    if (data == NULL)
        return 0;
    g->data = data;
    g->room = room;
    return 1;
}

static inline int put(growing *g, const void *bytes, size_t size)
{
    if (g->room - g->bytes < size && !grow(g, size))
        return 0;
    if (size > 0)
        memcpy(g->data + g->bytes, bytes, size);
    g->bytes += size;
    return 1;
}

/* The bit at `at`, which is the next one; those behind it are overwritten when they come. */
static inline int put_bit(growing *g, int64_t at, int bit)
{
    size_t byte = (size_t)at >> 3;
    uint8_t mask = (uint8_t)(1u << (at & 7));

    if (byte >= g->bytes) {
        if (g->room - g->bytes < 1 && !grow(g, 1))
            return 0;
        g->data[g->bytes++] = 0;
    }
    if (bit)
        g->data[byte] |= mask;
    else
        g->data[byte] &= (uint8_t)~mask;
    return 1;
}

int append_end(node *n, int64_t end)
{
    int32_t narrow = (int32_t)end;

    return end <= INT32_MAX && put(&n->ends, &narrow, sizeof narrow);
}

int append_valid(node *n)
{
    if (!put_bit(&n->valid, n->length, 1))
        return 0;
    n->length++;
    return 1;
}

int append_null(node *n)
{
    if (!n->is_built)
        return 1;
    if (!put_bit(&n->valid, n->length, 0))
        return 0;
    if (n->kind == STRUCT) {
        for (int i = 0; i < n->child_count; i++)
            if (!append_null(n->children[i]))
                return 0;
    } else if (n->kind == BOOLEAN) {
        if (!put_bit(&n->data, n->length, 0))
            return 0;
    } else if (has_ends(n)) {
        int32_t end;
        memcpy(&end, n->ends.data + n->ends.bytes - sizeof end, sizeof end);
        if (!append_end(n, end))
            return 0;
    } else if (!put(&n->data, ZEROS, width_of(n->kind)))
        return 0;
    n->length++;
    n->nulls++;
    return 1;
}

int append_fixed(node *n, const void *value, size_t size)
{
    return !n->is_built || (put(&n->data, value, size) && append_valid(n));
}

int append_bit(node *n, int bit)
{
    return !n->is_built || (put_bit(&n->data, n->length, bit) && append_valid(n));
}

int append_bytes(node *n, const uint8_t *bytes, size_t size)
{
    return !n->is_built || (put(&n->data, bytes, size) &&
                            append_end(n, (int64_t)n->data.bytes) && append_valid(n));
}

static int64_t nulls_from(const node *n, int64_t length)
{
    int64_t nulls = 0;

    for (int64_t i = length; i < n->length; i++)
        nulls += !(n->valid.data[i >> 3] >> (i & 7) & 1);
    return nulls;
}

/* A value that was begun and not finished may have left more bytes than the length says. */
void shorten(node *n, int64_t length)
{
    if (!n->is_built)
        return;
    n->nulls -= nulls_from(n, length);
    n->length = length;
    n->valid.bytes = (size_t)(length + 7) / 8;
    if (n->kind == STRUCT) {
        for (int i = 0; i < n->child_count; i++)
            shorten(n->children[i], length);
    } else if (n->kind == BOOLEAN) {
        n->data.bytes = (size_t)(length + 7) / 8;
    } else if (has_ends(n)) {
        int32_t end;
        n->ends.bytes = sizeof end * ((size_t)length + 1);
        memcpy(&end, n->ends.data + n->ends.bytes - sizeof end, sizeof end);
        if (n->kind == STRING || n->kind == BINARY)
            n->data.bytes = (size_t)end;
        for (int i = 0; i < n->child_count; i++)
            shorten(n->children[i], end);
    } else
        n->data.bytes = width_of(n->kind) * (size_t)length;
}

static void clear(growing *g)
{
    g->bytes = 0;
}

int start(node *n)
{
    n->length = 0;
    n->nulls = 0;
    clear(&n->valid);
    clear(&n->ends);
    clear(&n->data);
    for (int i = 0; i < n->child_count; i++)
        if (!start(n->children[i]))
            return 0;
    return !n->is_built || !has_ends(n) || append_end(n, 0);
}

void release(node *n)
{
    if (n == NULL)
        return;
    for (int i = 0; i < n->child_count; i++)
        release(n->children[i]);
    free(n->children);
    free(n->name);
    free(n->valid.data);
    free(n->ends.data);
    free(n->data.data);
    free(n);
}
