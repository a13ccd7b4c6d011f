/* One record as it stands in a batch; barnabas/records/encode.py has its layout. */
#ifndef BARNABAS_RECORD_H
#define BARNABAS_RECORD_H

#include "varint.h"

#include <string.h>

/* length, attributes, two deltas, two lengths and a count, one byte each */
#define MIN_RECORD_SIZE 7
#define MIN_HEADER_SIZE 2

/* Bytes somewhere else; a size below 0 is null. */
typedef struct {
    const uint8_t *data;
    int64_t size;
} span;

typedef struct {
    int64_t timestamp_delta;
    int64_t offset_delta;
    span key;
    span value;
    int64_t header_count;
    const uint8_t *headers;
    const uint8_t *end;
} record;

/* Read a length and the bytes it announces. */
static inline int read_span(const uint8_t **at, const uint8_t *end, span *bytes)
{
    if (!read_varint(at, end, &bytes->size))
        return 0;
    bytes->data = *at;
    if (bytes->size > end - *at)
        return 0;
    if (bytes->size > 0)
        *at += bytes->size;
    return 1;
}

/* Read one header; its key can't be null. */
static inline int read_header(const uint8_t **at, const uint8_t *end, span *key, span *value)
{
    return read_span(at, end, key) && key->size >= 0 && read_span(at, end, value);
}

/* Read the record at *at and step behind it; 0 if it is not well-formed in every part, headers
 * included. */
static inline int read_record(const uint8_t **at, const uint8_t *end, record *r)
{
    int64_t length;
    const uint8_t *p;

    if (!read_varint(at, end, &length) || length < 0 || length > end - *at)
        return 0;
    p = *at;
    end = p + length;
    if (p >= end)
        return 0;
    p++; /* the attributes, unused so far */
    if (!read_varint(&p, end, &r->timestamp_delta) || !read_varint(&p, end, &r->offset_delta))
        return 0;
    if (!read_span(&p, end, &r->key) || !read_span(&p, end, &r->value))
        return 0;
    if (!read_varint(&p, end, &r->header_count))
        return 0;
    r->headers = p;
    r->end = end;
    if (r->header_count != 0) {
        if (r->header_count < 0 || r->header_count > (end - p) / MIN_HEADER_SIZE)
            return 0;
        for (int64_t i = 0; i < r->header_count; i++) {
            span key, value;
            if (!read_header(&p, end, &key, &value))
                return 0;
        }
    }
    *at = end;
    return p == end;
}

/* The bytes of a record behind its length, without its headers but with their count. */
static inline int64_t record_size(int64_t timestamp_delta, int64_t offset_delta, int64_t key_size,
                                  int64_t value_size, int64_t header_count)
{
    return 1 + varint_size(timestamp_delta) + varint_size(offset_delta) + varint_size(key_size) +
           (key_size > 0 ? key_size : 0) + varint_size(value_size) +
           (value_size > 0 ? value_size : 0) + varint_size(header_count);
}

static inline uint8_t *write_span(uint8_t *at, span bytes)
{
    at = write_varint(at, bytes.size < 0 ? -1 : bytes.size);
    if (bytes.size > 0) {
        memcpy(at, bytes.data, (size_t)bytes.size);
        at += bytes.size;
    }
    return at;
}

static inline int64_t span_size(span bytes)
{
    return varint_size(bytes.size) + (bytes.size > 0 ? bytes.size : 0);
}

/* Write a record up to its headers, which the caller adds. */
static inline uint8_t *write_record(uint8_t *at, int64_t length, int64_t timestamp_delta,
                                    int64_t offset_delta, span key, span value,
                                    int64_t header_count)
{
    at = write_varint(at, length);
    *at++ = 0; /* attributes */
    at = write_varint(at, timestamp_delta);
    at = write_varint(at, offset_delta);
    at = write_span(at, key);
    at = write_span(at, value);
    return write_varint(at, header_count);
}

#endif
