/* Whether bytes are UTF-8. */
#ifndef BARNABAS_UTF8_H
#define BARNABAS_UTF8_H

#include <stdint.h>

static inline int is_utf8(const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        uint8_t byte = *at++, low = 0x80, high = 0xbf; /* bounds of the second byte */
        int more;
        if (byte < 0x80)
            continue;
        if (byte >= 0xc2 && byte <= 0xdf)
            more = 1;
        else if (byte >= 0xe0 && byte <= 0xef)
            more = 2;
        else if (byte >= 0xf0 && byte <= 0xf4)
            more = 3;
        else
            return 0;
        if (byte == 0xe0)
            low = 0xa0; /* shorter forms exist */
        else if (byte == 0xed)
            high = 0x9f; /* surrogates */
        else if (byte == 0xf0)
            low = 0x90;
        else if (byte == 0xf4)
            high = 0x8f; /* beyond Unicode */
        if (end - at < more)
            return 0;
        for (; more > 0; more--, low = 0x80, high = 0xbf) {
            byte = *at++;
            if (byte < low || byte > high)
                return 0;
        }
    }
    return 1;
}

#endif
