#include "program.h"

#include "../kernel_headers/utf8.h"

static int run(reading *r, int32_t number);

/* -- bytes ------------------------------------------------------------------------------------ */

/* Zigzag, seven bits in each byte, the lowest first; 0 if it is cut off or has more than 64 bits. */
static inline int take_long(reading *r, int64_t *value)
{
    const uint8_t *at = r->at;
    uint64_t found = 0;

    for (int shift = 0; shift <= 63; shift += 7) {
        uint8_t byte;
        if (at == r->end)
            return 0;
        byte = *at++;
        if (shift == 63 && byte > 1)
            return 0;
        found |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            r->at = at;
            *value = (int64_t)(found >> 1) ^ -(int64_t)(found & 1);
            return 1;
        }
    }
    return 0;
}

static inline int take(reading *r, int64_t size, const uint8_t **bytes)
{
    if (size < 0 || size > r->end - r->at)
        return 0;
    *bytes = r->at;
    r->at += size;
    return 1;
}

static inline int is_text(const uint8_t *at, size_t size)
{
    const uint8_t *end = at + size;

    while (end - at >= 8) {
        uint64_t eight;
        memcpy(&eight, at, sizeof eight);
        if (eight & 0x8080808080808080u)
            return is_utf8(at, end);
        at += 8;
    }
    return is_utf8(at, end);
}

/* What only fails for want of memory. */
static inline int kept(reading *r, int is_appended)
{
    if (!is_appended)
        r->is_out_of_memory = 1;
    return is_appended;
}

/* -- scalars ---------------------------------------------------------------------------------- */

static int read_boolean(reading *r, const step *s)
{
    if (r->at == r->end || *r->at > 1)
        return 0;
    r->at++;
    if (s->column == NULL)
        return 1;
    return s->column->kind == BOOLEAN && kept(r, append_bit(s->column, r->at[-1]));
}

static int append_number(reading *r, node *n, int64_t value)
{
    int32_t narrow = (int32_t)value;
    float single = (float)value;
    double wide = (double)value;

    switch (n->kind) {
    case INT32:
    case DATE:
        return kept(r, append_fixed(n, &narrow, sizeof narrow));
    case INT64:
    case TIMESTAMP:
    case TIMESTAMP_NTZ:
        return kept(r, append_fixed(n, &value, sizeof value));
    case FLOAT32:
        return kept(r, append_fixed(n, &single, sizeof single));
    case FLOAT64:
        return kept(r, append_fixed(n, &wide, sizeof wide));
    default:
        return 0;
    }
}

static int read_number(reading *r, const step *s)
{
    int64_t value;

    if (!take_long(r, &value) || (s->op == READ_INT && (value < INT32_MIN || value > INT32_MAX)))
        return 0;
    if (s->column == NULL)
        return 1;
    if (s->argument > 0) {
        if (__builtin_mul_overflow(value, s->argument, &value))
            return 0;
    } else if (s->argument < -1) {
        int64_t by = -s->argument, rest = value % by;
        value = value / by - (rest < 0);
    }
    return append_number(r, s->column, value);
}

static int read_float(reading *r, const step *s)
{
    const uint8_t *bytes;
    float value;
    double wide;

    if (!take(r, sizeof value, &bytes))
        return 0;
    if (s->column == NULL)
        return 1;
    if (s->column->kind == FLOAT32)
        return kept(r, append_fixed(s->column, bytes, sizeof value));
    memcpy(&value, bytes, sizeof value);
    wide = (double)value;
    return s->column->kind == FLOAT64 && kept(r, append_fixed(s->column, &wide, sizeof wide));
}

static int read_double(reading *r, const step *s)
{
    const uint8_t *bytes;

    if (!take(r, sizeof(double), &bytes))
        return 0;
    return s->column == NULL || (s->column->kind == FLOAT64 &&
                                 kept(r, append_fixed(s->column, bytes, sizeof(double))));
}

/* Two's complement, the highest byte first, of any length. */
static int append_decimal(reading *r, node *n, const uint8_t *bytes, size_t size)
{
    uint8_t sign = size > 0 && bytes[0] & 0x80 ? 0xff : 0;
    unsigned __int128 found = sign ? ~(unsigned __int128)0 : 0;
    __int128 value, limit = 1;

    for (; size > 16; size--, bytes++)
        if (*bytes != sign)
            return 0;
    if (size == 16 && (bytes[0] & 0x80) != (sign & 0x80))
        return 0;
    for (size_t i = 0; i < size; i++)
        found = found << 8 | bytes[i];
    value = (__int128)found;
    for (int i = 0; i < n->precision; i++)
        limit *= 10;
    if (value >= limit || value <= -limit)
        return 0;
    return kept(r, append_fixed(n, &value, sizeof value));
}

static int append_data(reading *r, const step *s, const uint8_t *bytes, size_t size)
{
    node *n = s->column;

    if (n == NULL)
        return 1;
    if (n->kind == DECIMAL)
        return append_decimal(r, n, bytes, size);
    if (n->kind == STRING ? !is_text(bytes, size) : n->kind != BINARY)
        return 0;
    return kept(r, append_bytes(n, bytes, size));
}

static int read_bytes(reading *r, const step *s)
{
    const uint8_t *bytes;
    int64_t size;

    return take_long(r, &size) && take(r, size, &bytes) && append_data(r, s, bytes, (size_t)size);
}

static int read_fixed(reading *r, const step *s)
{
    const uint8_t *bytes;

    return take(r, s->argument, &bytes) && append_data(r, s, bytes, (size_t)s->argument);
}

static int read_enum(reading *r, const step *s)
{
    int64_t number;
    const symbol *found;

    if (!take_long(r, &number) || number < 0 || number >= s->symbol_count)
        return 0;
    found = &s->symbols[number];
    if (found->data == NULL)
        return 0;
    return s->column == NULL || (s->column->kind == STRING &&
                                 kept(r, append_bytes(s->column, found->data, found->size)));
}

/* -- what has parts --------------------------------------------------------------------------- */

static int read_key(reading *r, node *map)
{
    const uint8_t *bytes;
    int64_t size;

    if (!take_long(r, &size) || !take(r, size, &bytes))
        return 0;
    if (map == NULL)
        return 1;
    return is_text(bytes, (size_t)size) &&
           kept(r, append_bytes(map->children[0], bytes, (size_t)size));
}

/* Blocks of items; a negative count is followed by the size of the block. */
static int read_items(reading *r, const step *s)
{
    node *n = s->column;

    if (n != NULL && n->kind != (s->op == READ_MAP ? MAP : LIST))
        return 0;
    for (;;) {
        int64_t count, block;
        uint64_t items;
        if (!take_long(r, &count))
            return 0;
        if (count == 0)
            break;
        items = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
        if (count < 0 && !take_long(r, &block))
            return 0;
        for (; items > 0; items--) {
            const uint8_t *before = r->at;
            if (s->op == READ_MAP && !read_key(r, n))
                return 0;
            if (!run(r, s->parts[0]))
                return 0;
            if (r->at == before && ++r->free_items > FREE_ITEMS)
                return 0;
        }
    }
    if (n == NULL || !n->is_built)
        return 1;
    if (n->kind == MAP && n->children[0]->length != n->children[1]->length)
        return 0;
    return kept(r, append_end(n, n->children[0]->length) && append_valid(n));
}

/* A struct is complete when each of its fields has one more value than it. */
static int append_struct(reading *r, node *n)
{
    if (n == NULL || !n->is_built)
        return 1;
    for (int i = 0; i < n->child_count; i++)
        if (n->children[i]->is_built && n->children[i]->length != n->length + 1)
            return 0;
    return kept(r, append_valid(n));
}

static int read_union(reading *r, const step *s)
{
    int64_t number;

    return take_long(r, &number) && number >= 0 && number < s->part_count &&
           run(r, s->parts[number]);
}

static int read_record(reading *r, const step *s)
{
    if (s->column != NULL && s->column->kind != STRUCT)
        return 0;
    for (int32_t i = 0; i < s->part_count; i++)
        if (!run(r, s->parts[i]))
            return 0;
    return append_struct(r, s->column);
}

static int read_member(reading *r, const step *s)
{
    node *n = s->column;

    if (n == NULL || n->kind != STRUCT || !run(r, s->parts[0]))
        return 0;
    for (int i = 0; i < n->child_count; i++)
        if (i != s->argument && !kept(r, append_null(n->children[i])))
            return 0;
    return append_struct(r, n);
}

static int read_default(reading *r, const step *s)
{
    const uint8_t *at = r->at, *end = r->end;
    int is_read;

    r->at = s->data;
    r->end = s->data + s->size;
    is_read = run(r, s->parts[0]);
    r->at = at;
    r->end = end;
    return is_read;
}

static int run_step(reading *r, const step *s)
{
    switch (s->op) {
    case READ_NULL:
        return s->column == NULL || kept(r, append_null(s->column));
    case READ_BOOLEAN:
        return read_boolean(r, s);
    case READ_INT:
    case READ_LONG:
        return read_number(r, s);
    case READ_FLOAT:
        return read_float(r, s);
    case READ_DOUBLE:
        return read_double(r, s);
    case READ_BYTES:
        return read_bytes(r, s);
    case READ_FIXED:
        return read_fixed(r, s);
    case READ_ENUM:
        return read_enum(r, s);
    case READ_ARRAY:
    case READ_MAP:
        return read_items(r, s);
    case READ_UNION:
        return read_union(r, s);
    case READ_RECORD:
        return read_record(r, s);
    case READ_MEMBER:
        return read_member(r, s);
    case READ_DEFAULT:
        return read_default(r, s);
    default:
        return 0;
    }
}

static int run(reading *r, int32_t number)
{
    int is_read;

    if (r->depth >= MAX_DEPTH)
        return 0;
    r->depth++;
    is_read = run_step(r, &r->program->steps[number]);
    r->depth--;
    return is_read;
}

int read_value(reading *r, const program *p, const uint8_t *at, const uint8_t *end)
{
    r->program = p;
    r->at = at;
    r->end = end;
    r->depth = 0;
    r->free_items = 0;
    return run(r, 0) && r->at == r->end;
}

void release_program(program *p)
{
    for (int32_t i = 0; p->steps != NULL && i < p->count; i++) {
        step *s = &p->steps[i];
        free(s->parts);
        free(s->data);
        for (int32_t j = 0; s->symbols != NULL && j < s->symbol_count; j++)
            free(s->symbols[j].data);
        free(s->symbols);
    }
    free(p->steps);
}
