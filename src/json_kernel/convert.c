#include "convert.h"

#define MAX_LONG_DIGITS 18

static const int64_t TENS[] = {1LL,
                               10LL,
                               100LL,
                               1000LL,
                               10000LL,
                               100000LL,
                               1000000LL,
                               10000000LL,
                               100000000LL,
                               1000000000LL,
                               10000000000LL,
                               100000000000LL,
                               1000000000000LL,
                               10000000000000LL,
                               100000000000000LL,
                               1000000000000000LL,
                               10000000000000000LL,
                               100000000000000000LL,
                               1000000000000000000LL};

static inline int done(scan *s, int is_appended)
{
    if (!is_appended)
        s->is_out_of_memory = 1;
    return is_appended;
}

static int is_number_start(uint8_t c)
{
    return c == '-' || (c >= '0' && c <= '9');
}

static int convert_int(scan *s, node *n, int64_t least, int64_t greatest)
{
    number found;
    int64_t value;
    int8_t v8;
    int16_t v16;
    int32_t v32;

    if (!scan_number(s, &found) || !int64_of(&found, &value) || value < least || value > greatest)
        return 0;
    switch (n->kind) {
    case INT8:
        v8 = (int8_t)value;
        return done(s, append_fixed(n, &v8, sizeof v8));
    case INT16:
        v16 = (int16_t)value;
        return done(s, append_fixed(n, &v16, sizeof v16));
    case INT32:
        v32 = (int32_t)value;
        return done(s, append_fixed(n, &v32, sizeof v32));
    default:
        return done(s, append_fixed(n, &value, sizeof value));
    }
}

static int convert_float(scan *s, node *n)
{
    number found;
    double wide;
    float narrow;

    if (!scan_number(s, &found))
        return 0;
    if (n->kind == FLOAT32)
        return float_of(&found, &narrow) && done(s, append_fixed(n, &narrow, sizeof narrow));
    return double_of(&found, &wide) && done(s, append_fixed(n, &wide, sizeof wide));
}

/* A number, or a string that is one in the same form. */
static int scan_decimal(scan *s, uint8_t c, number *found)
{
    text said;
    scan inner;

    if (c != '"')
        return is_number_start(c) && scan_number(s, found);
    if (!scan_string(s, &said) || said.size == 0 || !is_number_start(said.data[0]))
        return 0;
    memset(&inner, 0, sizeof inner);
    inner.at = said.data;
    inner.end = said.data + said.size;
    return scan_number(&inner, found) && inner.at == inner.end;
}

/* Numbers of up to 18 digits; what is behind the scale is rounded, half up. */
static int convert_decimal(scan *s, node *n, uint8_t c)
{
    number found;
    int64_t value = 0, words[2];
    const uint8_t *at;
    size_t kept, scale = (size_t)n->scale;
    int is_up = 0;

    if (!scan_decimal(s, c, &found) || found.has_exponent)
        return 0;
    kept = found.fraction_digits < scale ? found.fraction_digits : scale;
    if (found.whole_digits + scale > MAX_LONG_DIGITS)
        return 0;
    at = found.data + found.is_negative;
    for (size_t i = 0; i < found.whole_digits; i++)
        value = value * 10 + (at[i] - '0');
    at += found.whole_digits + 1; /* not read without a fraction */
    for (size_t i = 0; i < kept; i++)
        value = value * 10 + (at[i] - '0');
    if (kept < found.fraction_digits)
        is_up = at[kept] >= '5';
    value = value * TENS[scale - kept] + is_up;
    if (n->precision <= MAX_LONG_DIGITS && value >= TENS[n->precision])
        return 0;
    words[0] = found.is_negative ? -value : value;
    words[1] = words[0] < 0 ? -1 : 0;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = words[0], words[0] = words[1], words[1] = value;
#endif
    return done(s, append_fixed(n, words, sizeof words));
}

/* A string of JSON says what it says; anything else is its JSON, written again. */
static int convert_string(scan *s, node *n, uint8_t c, int depth)
{
    text found;

    if (c == '"')
        return scan_string(s, &found) && done(s, append_bytes(n, found.data, found.size));
    s->text.bytes = 0;
    if (!rewrite_value(s, &s->text, depth))
        return 0;
    return done(s, append_bytes(n, s->text.data, s->text.bytes));
}

static int base64_digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Groups of four digits, padded at the end. */
static int convert_binary(scan *s, node *n)
{
    const uint8_t *from = s->at + 1;
    text found;
    size_t padding = 0;
    growing *target = &s->text;

    if (!scan_string(s, &found) || found.data != from || found.size % 4 != 0)
        return 0;
    while (padding < 2 && padding < found.size && found.data[found.size - 1 - padding] == '=')
        padding++;
    target->bytes = 0;
    if (!grow(target, found.size + 1)) {
        s->is_out_of_memory = 1;
        return 0;
    }
    for (size_t i = 0; i < found.size; i += 4) {
        uint32_t bits = 0;
        for (size_t j = i; j < i + 4; j++) {
            int digit = j < found.size - padding ? base64_digit(found.data[j]) : 0;
            if (digit < 0)
                return 0;
            bits = bits << 6 | (uint32_t)digit;
        }
        target->data[target->bytes++] = (uint8_t)(bits >> 16);
        target->data[target->bytes++] = (uint8_t)(bits >> 8);
        target->data[target->bytes++] = (uint8_t)bits;
    }
    target->bytes -= padding;
    return done(s, append_bytes(n, target->data, target->bytes));
}

static int convert_time(scan *s, node *n, uint8_t c)
{
    text found;
    int32_t days;
    int64_t micros;
    number seconds;

    if (c != '"') {
        if (n->kind != TIMESTAMP || !is_number_start(c) || !scan_number(s, &seconds) ||
            !int64_of(&seconds, &micros) || micros > INT64_MAX / 1000000 ||
            micros < INT64_MIN / 1000000)
            return 0;
        micros *= 1000000;
        return done(s, append_fixed(n, &micros, sizeof micros));
    }
    if (!scan_string(s, &found))
        return 0;
    if (n->kind == DATE)
        return days_of(found, &days) && done(s, append_fixed(n, &days, sizeof days));
    if (n->kind == TIMESTAMP ? !micros_of(s, found, &micros) : !local_micros_of(found, &micros))
        return 0;
    return done(s, append_fixed(n, &micros, sizeof micros));
}

/* Ends of elements are counted also where nothing is built. */
static int end_list(scan *s, node *n)
{
    return done(s, !n->is_built || (append_end(n, n->children[0]->length) && append_valid(n)));
}

static int convert_list(scan *s, node *n, int depth)
{
    s->at++;
    if (peek(s) == ']') {
        s->at++;
        return end_list(s, n);
    }
    do {
        if (!convert_value(s, n->children[0], depth + 1))
            return 0;
    } while (take(s, ','));
    return take(s, ']') && end_list(s, n);
}

static int convert_map(scan *s, node *n, int depth)
{
    s->at++;
    if (peek(s) == '}') {
        s->at++;
        return end_list(s, n);
    }
    do {
        text key;
        if (peek(s) != '"' || !scan_string(s, &key) || key.size > MAX_NAME_SIZE ||
            !done(s, append_bytes(n->children[0], key.data, key.size)) || !take(s, ':') ||
            !convert_value(s, n->children[1], depth + 1))
            return 0;
    } while (take(s, ','));
    return take(s, '}') && end_list(s, n);
}

static inline int is_named(const node *n, text name)
{
    return n->name_size == name.size && memcmp(n->name, name.data, name.size) == 0;
}

/* The field of a name: most often the one that follows the last one. */
static inline node *field_named(const node *n, text name, int *expected)
{
    if (*expected < n->child_count && is_named(n->children[*expected], name))
        return n->children[(*expected)++];
    for (int i = 0; i < n->child_count; i++)
        if (is_named(n->children[i], name)) {
            *expected = i + 1;
            return n->children[i];
        }
    return NULL;
}

/* A name that comes twice is unusual: the last one counts. */
int convert_object(scan *s, node *n, int depth)
{
    uint64_t object = ++s->objects;
    int expected = 0;

    s->at++;
    if (peek(s) == '}')
        s->at++;
    else {
        do {
            text name;
            node *field;
            if (peek(s) != '"' || !scan_string(s, &name) || name.size > MAX_NAME_SIZE)
                return 0;
            field = field_named(n, name, &expected);
            if (!take(s, ':'))
                return 0;
            if (field == NULL) {
                if (!skip_value(s, depth + 1))
                    return 0;
            } else {
                if (field->seen_in == object || !convert_value(s, field, depth + 1))
                    return 0;
                field->seen_in = object;
            }
        } while (take(s, ','));
        if (!take(s, '}'))
            return 0;
    }
    for (int i = 0; i < n->child_count; i++)
        if (n->children[i]->seen_in != object && !done(s, append_null(n->children[i])))
            return 0;
    return done(s, !n->is_built || append_valid(n));
}

int convert_value(scan *s, node *n, int depth)
{
    uint8_t c = peek(s);

    if (depth > MAX_DEPTH)
        return 0;
    if (c == 'n')
        return scan_word(s, "null", 4) && done(s, append_null(n));
    switch (n->kind) {
    case BOOLEAN:
        if (scan_word(s, "true", 4))
            return done(s, append_bit(n, 1));
        return scan_word(s, "false", 5) && done(s, append_bit(n, 0));
    case INT8:
        return is_number_start(c) && convert_int(s, n, INT8_MIN, UINT8_MAX); /* as Jackson has it */
    case INT16:
        return is_number_start(c) && convert_int(s, n, INT16_MIN, INT16_MAX);
    case INT32:
        return is_number_start(c) && convert_int(s, n, INT32_MIN, INT32_MAX);
    case INT64:
        return is_number_start(c) && convert_int(s, n, INT64_MIN, INT64_MAX);
    case FLOAT32:
    case FLOAT64:
        return is_number_start(c) && convert_float(s, n);
    case DECIMAL:
        return convert_decimal(s, n, c);
    case STRING:
        return convert_string(s, n, c, depth);
    case BINARY:
        return c == '"' && convert_binary(s, n);
    case DATE:
    case TIMESTAMP:
    case TIMESTAMP_NTZ:
        return convert_time(s, n, c);
    case STRUCT:
        return c == '{' && convert_object(s, n, depth);
    case LIST:
        return c == '[' && convert_list(s, n, depth);
    case MAP:
        return c == '{' && convert_map(s, n, depth);
    default:
        return 0;
    }
}
