/* JSON written again, as Jackson does for a column of strings that is given something else.
 *
 * White space goes. Strings stay as they are, if their escapes are those that Jackson writes.
 * Numbers with a fraction are written as Java writes doubles: where they have few digits and no
 * exponent, that is without the zeros at their end.
 */
#include "scan.h"

#define EXACT_DIGITS 15 /* decimal digits that a double holds, whatever they are */

static int put(scan *s, growing *g, const void *bytes, size_t size)
{
    if (!grow(g, size)) {
        s->is_out_of_memory = 1;
        return 0;
    }
    memcpy(g->data + g->bytes, bytes, size);
    g->bytes += size;
    return 1;
}

static int rewrite_string(scan *s, growing *target)
{
    const uint8_t *from = s->at;

    if (!skip_string(s))
        return 0;
    for (const uint8_t *at = from + 1; at < s->at; at++)
        if (*at >= 0xf0) /* beyond 16 bits, which Jackson escapes */
            return 0;
        else if (*at == '\\') {
            at++;
            if (*at == 'u' || *at == '/')
                return 0;
        }
    return put(s, target, from, (size_t)(s->at - from));
}

static int rewrite_number(scan *s, growing *target)
{
    number n;
    const uint8_t *whole;
    size_t size;

    if (!scan_number(s, &n))
        return 0;
    whole = n.data + n.is_negative;
    if (!n.is_float) {
        if (n.is_negative && n.size == 2 && *whole == '0')
            return put(s, target, "0", 1);
        return put(s, target, n.data, n.size);
    }
    if (n.has_exponent || n.whole_digits + n.fraction_digits > EXACT_DIGITS || n.whole_digits > 7)
        return 0; /* from 10,000,000 on there is an exponent */
    size = n.size;
    while (n.data[size - 1] == '0' && n.data[size - 2] != '.')
        size--;
    if (*whole == '0') { /* below 0.001 there is one too, except for 0 */
        size_t zeros = 0;
        while (zeros < n.fraction_digits && whole[2 + zeros] == '0')
            zeros++;
        if (zeros > 2 && zeros < n.fraction_digits)
            return 0;
    }
    return put(s, target, n.data, size);
}

static int rewrite_name(scan *s, growing *target)
{
    size_t before = target->bytes;

    return peek(s) == '"' && rewrite_string(s, target) &&
           target->bytes - before <= MAX_NAME_SIZE && take(s, ':') && put(s, target, ":", 1);
}

/* As `skip_value`, and written. */
int rewrite_value(scan *s, growing *target, int depth)
{
    uint8_t is_object[MAX_DEPTH / 8 + 1] = {0};
    int level = 0;

    for (;;) {
        uint8_t c = peek(s);
        if (c == '{' || c == '[') {
            int object = c == '{';
            s->at++;
            if (!put(s, target, &c, 1))
                return 0;
            if (peek(s) != (object ? '}' : ']')) {
                if (depth + level >= MAX_DEPTH)
                    return 0;
                if (object)
                    is_object[level >> 3] |= (uint8_t)(1u << (level & 7));
                else
                    is_object[level >> 3] &= (uint8_t)~(1u << (level & 7));
                level++;
                if (object && !rewrite_name(s, target))
                    return 0;
                continue;
            }
            s->at++;
            if (!put(s, target, object ? "}" : "]", 1))
                return 0;
        } else if (c == '"') {
            if (!rewrite_string(s, target))
                return 0;
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            if (!rewrite_number(s, target))
                return 0;
        } else {
            const uint8_t *from = s->at;
            if (!scan_word(s, "true", 4) && !scan_word(s, "false", 5) && !scan_word(s, "null", 4))
                return 0;
            if (!put(s, target, from, (size_t)(s->at - from)))
                return 0;
        }
        for (;;) { /* a value has ended */
            int object;
            if (level == 0)
                return 1;
            object = is_object[(level - 1) >> 3] >> ((level - 1) & 7) & 1;
            c = peek(s);
            if (c != ',' && c != (object ? '}' : ']'))
                return 0;
            s->at++;
            if (!put(s, target, &c, 1))
                return 0;
            if (c == ',') {
                if (object && !rewrite_name(s, target))
                    return 0;
                break;
            }
            level--;
        }
    }
}
