#include "scan.h"

/* Whether one of eight bytes is a quote, a backslash, a control character, or not ASCII. */
static inline int has_special(uint64_t eight)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';

    return (((eight - ones * 0x20) | (quote - ones) | (backslash - ones) | eight) & highs) != 0;
}

/* To the first byte of a string that is none of the plain ASCII ones. */
static inline const uint8_t *plain_end(const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 8) {
        uint64_t eight;
        memcpy(&eight, at, sizeof eight);
        if (has_special(eight))
            break;
        at += 8;
    }
    while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* To the first quote, backslash or control character. */
static const uint8_t *text_end(scan *s, const uint8_t *at)
{
    for (;;) {
        at = plain_end(at, s->end);
        if (at == s->end || *at < 0x80)
            return at;
        s->has_others = 1;
        while (at < s->end && *at >= 0x80)
            at++;
    }
}

static int hex_of(const uint8_t *at, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = at[i];
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (c | 0x20) - 'a' + 10u;
        else
            return 0;
        *code = *code << 4 | digit;
    }
    return 1;
}

static int put_text(scan *s, const uint8_t *bytes, size_t size)
{
    if (!grow(&s->text, size)) {
        s->is_out_of_memory = 1;
        return 0;
    }
    if (size > 0)
        memcpy(s->text.data + s->text.bytes, bytes, size);
    s->text.bytes += size;
    return 1;
}

static int put_character(scan *s, uint32_t code)
{
    uint8_t bytes[4];
    size_t size;

    if (code < 0x80) {
        bytes[0] = (uint8_t)code;
        size = 1;
    } else if (code < 0x800) {
        bytes[0] = (uint8_t)(0xc0 | code >> 6);
        bytes[1] = (uint8_t)(0x80 | (code & 0x3f));
        size = 2;
    } else if (code < 0x10000) {
        bytes[0] = (uint8_t)(0xe0 | code >> 12);
        bytes[1] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        bytes[2] = (uint8_t)(0x80 | (code & 0x3f));
        size = 3;
    } else {
        bytes[0] = (uint8_t)(0xf0 | code >> 18);
        bytes[1] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
        bytes[2] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        bytes[3] = (uint8_t)(0x80 | (code & 0x3f));
        size = 4;
    }
    return put_text(s, bytes, size);
}

static int short_escape(uint8_t letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case '"':
    case '\\':
    case '/':
        return letter;
    default:
        return -1;
    }
}

/* An escape, of which `at` is the backslash; where it ends. Halves of characters have to match. */
static const uint8_t *escape(scan *s, const uint8_t *at, uint32_t *code)
{
    uint32_t low;

    if (s->end - at < 2)
        return NULL;
    if (at[1] != 'u') {
        int character = short_escape(at[1]);
        *code = (uint32_t)character;
        return character < 0 ? NULL : at + 2;
    }
    if (s->end - at < 6 || !hex_of(at + 2, code))
        return NULL;
    if (*code < 0xd800 || *code > 0xdfff)
        return at + 6;
    if (*code > 0xdbff || s->end - at < 12 || at[6] != '\\' || at[7] != 'u' ||
        !hex_of(at + 8, &low) || low < 0xdc00 || low > 0xdfff)
        return NULL;
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return at + 12;
}

int scan_string(scan *s, text *found)
{
    const uint8_t *from = s->at + 1, *at = text_end(s, from);
    uint32_t code;

    if (at == s->end)
        return 0;
    if (*at == '"') {
        found->data = from;
        found->size = (size_t)(at - from);
        s->at = at + 1;
        return 1;
    }
    s->text.bytes = 0;
    while (at < s->end && *at == '\\') {
        if (!put_text(s, from, (size_t)(at - from)) || (at = escape(s, at, &code)) == NULL ||
            !put_character(s, code))
            return 0;
        from = at;
        at = text_end(s, from);
    }
    if (at == s->end || *at != '"' || !put_text(s, from, (size_t)(at - from)))
        return 0;
    found->data = s->text.data;
    found->size = s->text.bytes;
    s->at = at + 1;
    return 1;
}

int skip_string(scan *s)
{
    const uint8_t *at = text_end(s, s->at + 1);
    uint32_t code;

    while (at < s->end && *at == '\\') {
        at = escape(s, at, &code);
        if (at == NULL)
            return 0;
        at = text_end(s, at);
    }
    if (at == s->end || *at != '"')
        return 0;
    s->at = at + 1;
    return 1;
}

static const uint8_t *digits_end(const uint8_t *at, const uint8_t *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

int scan_number(scan *s, number *found)
{
    const uint8_t *at = s->at, *from;

    found->data = at;
    found->is_negative = *at == '-';
    at += found->is_negative;
    from = at;
    at = digits_end(at, s->end);
    found->whole_digits = (size_t)(at - from);
    if (found->whole_digits == 0 || (*from == '0' && found->whole_digits > 1))
        return 0;
    found->is_float = found->has_exponent = 0;
    found->fraction_digits = 0;
    if (at < s->end && *at == '.') {
        from = ++at;
        at = digits_end(at, s->end);
        found->fraction_digits = (size_t)(at - from);
        if (at == from)
            return 0;
        found->is_float = 1;
    }
    if (at < s->end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < s->end && (*at == '+' || *at == '-'))
            at++;
        from = at;
        at = digits_end(at, s->end);
        if (at == from)
            return 0;
        found->is_float = found->has_exponent = 1;
    }
    found->size = (size_t)(at - found->data);
    if (found->size > MAX_NUMBER_SIZE)
        return 0;
    s->at = at;
    return 1;
}

int scan_word(scan *s, const char *word, size_t size)
{
    if ((size_t)(s->end - s->at) < size || memcmp(s->at, word, size) != 0)
        return 0;
    s->at += size;
    return 1;
}

static int scan_constant(scan *s)
{
    return scan_word(s, "true", 4) || scan_word(s, "false", 5) || scan_word(s, "null", 4);
}

static int skip_name(scan *s)
{
    const uint8_t *from = s->at;

    return peek(s) == '"' && skip_string(s) && s->at - from <= MAX_NAME_SIZE && take(s, ':');
}

/* Without recursion: a bit for each level says whether it is an object. */
int skip_value(scan *s, int depth)
{
    uint8_t is_object[MAX_DEPTH / 8 + 1] = {0};
    int level = 0;
    number ignored;

    for (;;) {
        uint8_t c = peek(s);
        if (c == '{' || c == '[') {
            int object = c == '{';
            s->at++;
            if (peek(s) != (object ? '}' : ']')) {
                if (depth + level >= MAX_DEPTH)
                    return 0;
                if (object)
                    is_object[level >> 3] |= (uint8_t)(1u << (level & 7));
                else
                    is_object[level >> 3] &= (uint8_t)~(1u << (level & 7));
                level++;
                if (object && !skip_name(s))
                    return 0;
                continue;
            }
            s->at++;
        } else if (c == '"') {
            if (!skip_string(s))
                return 0;
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            if (!scan_number(s, &ignored))
                return 0;
        } else if (!scan_constant(s))
            return 0;
        for (;;) { /* a value has ended */
            int object;
            if (level == 0)
                return 1;
            object = is_object[(level - 1) >> 3] >> ((level - 1) & 7) & 1;
            c = peek(s);
            if (c == ',') {
                s->at++;
                if (object && !skip_name(s))
                    return 0;
                break;
            }
            if (c != (object ? '}' : ']'))
                return 0;
            s->at++;
            level--;
        }
    }
}
