/* Zigzag varints, as barnabas/records/varint.py describes them. */
#ifndef BARNABAS_VARINT_H
#define BARNABAS_VARINT_H

#include <stdint.h>

static inline int64_t unfold(uint64_t folded)
{
    return (int64_t)(folded >> 1) ^ -(int64_t)(folded & 1);
}

static inline uint64_t fold(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

/* Read the varint at *at, which lies before end, and step behind it; 0 if it is cut off or has
 * more than 64 bits. */
static inline int read_varint(const uint8_t **at, const uint8_t *end, int64_t *value)
{
    const uint8_t *p = *at;
    uint64_t folded = 0;

    for (int shift = 0; shift < 63; shift += 7) {
        if (p >= end)
            return 0;
        uint8_t byte = *p++;
        folded |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = unfold(folded);
            *at = p;
            return 1;
        }
    }
    if (p >= end)
        return 0;
    uint8_t last = *p++;
    if (last > 1)
        return 0;
    *value = unfold(folded | (uint64_t)last << 63);
    *at = p;
    return 1;
}

static inline int64_t varint_size(int64_t value)
{
    uint64_t folded = fold(value);
    int64_t size = 1;

    while (folded > 0x7f) {
        folded >>= 7;
        size++;
    }
    return size;
}

static inline uint8_t *write_varint(uint8_t *at, int64_t value)
{
    uint64_t folded = fold(value);

    while (folded > 0x7f) {
        *at++ = (uint8_t)(folded | 0x80);
        folded >>= 7;
    }
    *at++ = (uint8_t)folded;
    return at;
}

#endif
