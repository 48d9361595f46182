#include "rules/text.h"

#include <string.h>

#define QUOTED_MAX 40

void text_begin(struct text *text, char *buffer, size_t size)
{
    text->buffer = buffer;
    text->size = size;
    text->length = 0;
    if (size > 0) {
        buffer[0] = '\0';
    }
}

static void add_char(struct text *text, char c)
{
    if (text->length + 1 < text->size) {
        text->buffer[text->length] = c;
        text->buffer[text->length + 1] = '\0';
    }
    text->length++;
}

void text_add_bytes(struct text *text, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        add_char(text, bytes[i]);
    }
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_number(struct text *text, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        add_char(text, digits[--count]);
    }
}

void text_add_decimal(struct text *text, uint64_t billionths)
{
    text_add_number(text, billionths / 1000000000);
    uint64_t rest = billionths % 1000000000;
    if (rest == 0) {
        return;
    }
    add_char(text, '.');
    while (rest > 0) {
        rest *= 10;
        add_char(text, (char)('0' + rest / 1000000000));
        rest %= 1000000000;
    }
}

/* Minutes are used from two on: 60s stays as people write it. */
static const struct {
    uint64_t ns, from;
    const char *name;
} units[] = {
    {UINT64_C(3600000000000), 1, "h"},
    {UINT64_C(60000000000), 2, "m"},
    {1000000000, 1, "s"},
    {1000000, 1, "ms"},
    {1000, 1, "us"},
    {1, 1, "ns"},
};

void text_add_duration(struct text *text, uint64_t ns)
{
    if (ns == 0) {
        text_add(text, "0");
        return;
    }
    size_t i = 0;
    while (ns % units[i].ns != 0 || ns / units[i].ns < units[i].from) {
        i++;
    }
    text_add_number(text, ns / units[i].ns);
    text_add(text, units[i].name);
}

void text_add_quoted(struct text *text, const char *bytes, size_t length)
{
    size_t shown = length > QUOTED_MAX ? QUOTED_MAX : length;
    add_char(text, '\'');
    for (size_t i = 0; i < shown; i++) {
        char c = bytes[i];
        add_char(text, c >= ' ' && c <= '~' && c != '\'' ? c : '?');
    }
    text_add(text, shown < length ? "...'" : "'");
}
