/* The usual forms of dates and times: 2026-01-31, 2026-01-31T12:30:59.123456+01:00.
 *
 * Between date and time is a T or a space; seconds have up to nine digits behind their point, of
 * which six count; a zone is Z or an offset of hours and minutes. Years are 1 to 9999.
 */
#include "convert.h"

#define SECOND 1000000LL
#define DAY (86400 * SECOND)

static int two_digits(const uint8_t *at)
{
    return at[0] < '0' || at[0] > '9' || at[1] < '0' || at[1] > '9'
               ? -1
               : (at[0] - '0') * 10 + (at[1] - '0');
}

static int is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days from 1970-01-01, of years from 1 on: years begin in March, so that the leap day is last. */
static int32_t days_from(int year, int month, int day)
{
    int y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;

    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

/* The first ten bytes. */
static int scan_date(const uint8_t *at, int32_t *days)
{
    static const int8_t LENGTHS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int century = two_digits(at), rest = two_digits(at + 2), month = two_digits(at + 5),
        day = two_digits(at + 8), year;

    if (century < 0 || rest < 0 || at[4] != '-' || at[7] != '-' || month < 1 || month > 12 ||
        day < 1)
        return 0;
    year = century * 100 + rest;
    if (year < 1 || day > LENGTHS[month - 1] + (month == 2 && is_leap(year)))
        return 0;
    *days = days_from(year, month, day);
    return 1;
}

int days_of(text t, int32_t *days)
{
    return t.size == 10 && scan_date(t.data, days);
}

/* Date and time, without the zone, of which `rest` is the beginning. */
static int scan_time(text t, int64_t *micros, text *rest)
{
    const uint8_t *at = t.data, *end = t.data + t.size;
    int32_t days;
    int hour, minute, second;
    int64_t fraction = 0, weight = 100000;

    if (t.size < 19 || !scan_date(at, &days) || (at[10] != 'T' && at[10] != ' ') || at[13] != ':' ||
        at[16] != ':')
        return 0;
    hour = two_digits(at + 11);
    minute = two_digits(at + 14);
    second = two_digits(at + 17);
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
        return 0;
    at += 19;
    if (at < end && *at == '.') {
        const uint8_t *from = ++at;
        for (; at < end && *at >= '0' && *at <= '9'; at++, weight /= 10)
            fraction += (*at - '0') * weight;
        if (at == from || at - from > 9)
            return 0;
    }
    *micros = days * DAY + ((hour * 60 + minute) * 60 + second) * SECOND + fraction;
    rest->data = at;
    rest->size = (size_t)(end - at);
    return 1;
}

/* A local time of the session's zone. */
static int in_zone(const scan *s, int64_t *micros)
{
    int64_t low = 0, high = s->zone_count;

    if (s->zone_count == 0 || *micros < s->starts[0] || *micros >= s->known_until)
        return 0;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (*micros < s->starts[middle])
            high = middle;
        else
            low = middle;
    }
    *micros -= s->offsets[low];
    return 1;
}

int micros_of(scan *s, text t, int64_t *micros)
{
    text zone;
    int hours, minutes;
    int64_t offset;

    if (!scan_time(t, micros, &zone))
        return 0;
    if (zone.size == 0)
        return in_zone(s, micros);
    if (zone.size == 1)
        return zone.data[0] == 'Z';
    if (zone.size != 6 || (zone.data[0] != '+' && zone.data[0] != '-') || zone.data[3] != ':')
        return 0;
    hours = two_digits(zone.data + 1);
    minutes = two_digits(zone.data + 4);
    if (hours < 0 || hours > 17 || minutes < 0 || minutes > 59)
        return 0;
    offset = (hours * 60 + minutes) * 60 * SECOND;
    *micros -= zone.data[0] == '+' ? offset : -offset;
    return 1;
}

int local_micros_of(text t, int64_t *micros)
{
    text zone;

    return scan_time(t, micros, &zone) && zone.size == 0;
}
