/* See text.h. */
#include "report/text.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

char *text_printable(const char *text, char *buffer, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0'; at++) {
        bool plain = *at >= 0x20 && *at < 0x7f && *at != '\\';
        if (length + (plain ? 1 : 4) >= size) {
            break;
        }
        if (plain) {
            buffer[length++] = (char)*at;
        } else {
            buffer[length++] = '\\';
            buffer[length++] = 'x';
            buffer[length++] = digits[*at >> 4];
            buffer[length++] = digits[*at & 15];
        }
    }
    buffer[length] = '\0';
    return buffer;
}

char *text_time(uint64_t realtime, char *buffer, size_t size)
{
    time_t seconds = (time_t)(realtime / NS_PER_S);
    struct tm utc;
    char day[TEXT_TIME];
    if (gmtime_r(&seconds, &utc) == NULL || strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc) == 0) {
        memcpy(day, "1970-01-01T00:00:00", sizeof("1970-01-01T00:00:00"));
    }
    snprintf(buffer, size, "%s.%03uZ", day, (unsigned)(realtime % NS_PER_S / NS_PER_MS));
    return buffer;
}

char *text_span(uint64_t ns, char *buffer, size_t size)
{
    static const struct {
        unsigned seconds;
        char unit;
        unsigned part; /* of the next smaller unit, seconds; 0: there is none */
        char part_unit;
    } units[] = {{86400, 'd', 3600, 'h'}, {3600, 'h', 60, 'm'}, {60, 'm', 1, 's'}, {1, 's', 0, 0}};
    uint64_t seconds = ns / NS_PER_S;
    if (seconds == 0) {
        snprintf(buffer, size, "%ums", (unsigned)(ns / NS_PER_MS));
        return buffer;
    }
    size_t i = 0;
    while (seconds < units[i].seconds) {
        i++;
    }
    unsigned long whole = (unsigned long)(seconds / units[i].seconds);
    if (units[i].part == 0) {
        snprintf(buffer, size, "%lu%c", whole, units[i].unit);
    } else {
        unsigned part = (unsigned)(seconds % units[i].seconds / units[i].part);
        snprintf(buffer, size, "%lu%c%02u%c", whole, units[i].unit, part, units[i].part_unit);
    }
    return buffer;
}
