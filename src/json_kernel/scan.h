/* Steps through the text of one value. Nothing is read at or behind `end`.
 *
 * Everything here answers 0 for what is unusual as well as for what is wrong: the caller then gives
 * the whole value up, and Python decides.
 */
#ifndef BARNABAS_JSON_SCAN_H
#define BARNABAS_JSON_SCAN_H

#include "../columns/columns.h"

/* Spark's reader takes 1000 levels, names of 50,000 characters and numbers of 1000: what comes near
 * is unusual. */
#define MAX_DEPTH 512
#define MAX_NAME_SIZE 50000
#define MAX_NUMBER_SIZE 512

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
    int has_others; /* whether strings have had bytes that are not ASCII */
    int is_out_of_memory;
    growing text;     /* a string without its escapes */
    uint64_t objects; /* numbers the objects that were begun */
    /* Times without a zone: from starts[i] on, local, clocks are offsets[i] ahead of UTC. */
    const int64_t *starts;
    const int64_t *offsets;
    int64_t zone_count;
    int64_t known_until;
} scan;

typedef struct {
    const uint8_t *data;
    size_t size;
} text;

typedef struct {
    const uint8_t *data;
    size_t size;
    int is_negative;
    int is_float; /* a fraction or an exponent */
    int has_exponent;
    size_t whole_digits;
    size_t fraction_digits;
} number;

static inline void skip_space(scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
        s->at++;
}

/* The next character that is not white space; 0 at the end. A character 0 is unusual anyway. */
static inline uint8_t peek(scan *s)
{
    skip_space(s);
    return s->at < s->end ? *s->at : 0;
}

static inline int take(scan *s, uint8_t character)
{
    if (peek(s) != character)
        return 0;
    s->at++;
    return 1;
}

int scan_string(scan *s, text *found);   /* at its quote; without escapes, valid until the next */
int skip_string(scan *s);                /* the same, only checked */
int scan_number(scan *s, number *found); /* at its first character */
int scan_word(scan *s, const char *word, size_t size);
int skip_value(scan *s, int depth);

/* The value as JSON without white space, appended to `target`, as Jackson writes it. */
int rewrite_value(scan *s, growing *target, int depth);

int double_of(const number *n, double *value);
int float_of(const number *n, float *value);
int int64_of(const number *n, int64_t *value);

#endif
