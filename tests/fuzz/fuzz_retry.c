/*
 * When to come again: lines of "number of the field, value"; each value also as a date. Whatever they are, the wait is a day
 * at most, no longer for fewer believed headers where those are explicit, and the same for the same.
 */
#include "protocol/date.h"
#include "protocol/retry.h"

#include <stdlib.h>
#include <string.h>

#define NOW INT64_C(1735732800500)
#define DAY (UINT64_C(86400) * 1000000000)

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_dates(const char *text, size_t length)
{
    int64_t seconds = -1;
    uint32_t ms = 0;

    must(date_http(text, length, &seconds) == (seconds >= 0));
    if (date_rfc3339(text, length, &seconds, &ms)) {
        must(ms <= 1000 && seconds >= -86400 && seconds < INT64_C(253402300800) + 86400);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct retry retry, again;

    memset(&retry, 0xa5, sizeof retry);
    retry_begin(&retry);
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t length = end != NULL ? (size_t)(end - data) : size;

        if (length > 0) {
            /* memory of its own, so that a sanitizer sees a read beyond it */
            char *value = malloc(length);

            memcpy(value, data + 1, length - 1);
            retry_take(&retry, data[0] % 24, value, length - 1);
            (void)retry_field(value, length - 1);
            check_dates(value, length - 1);
            free(value);
        }
        length += end != NULL ? 1 : 0;
        data += length;
        size -= length;
    }
    again = retry;
    for (unsigned families = 0; families <= RETRY_BY_ALL; families++) {
        uint64_t wait = retry_after(&retry, families, NOW);

        must(wait <= DAY && wait == retry_after(&again, families, NOW));
        must(families != 0 || wait == 0);
        must(retry_after(&retry, families, INT64_MIN) <= DAY && retry_after(&retry, families, INT64_MAX) <= DAY);
    }
    return 0;
}
