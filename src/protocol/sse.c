#include "protocol/sse.h"

#include <string.h>

enum state {
    LINE,       /* zero: a line begins */
    FIELD,      /* its field's name is being read */
    DATA_BEGIN, /* behind `data:`, where one blank is left out */
    DATA,
    EVENT_BEGIN,
    EVENT,
    SKIPPED /* a comment, or another field */
};

/* The member `error` of an event's data: none yet; its key was met; it says something. */
enum error { ERROR_NONE, ERROR_KEY, ERROR_SAID };

static const char done[] = "[DONE]";
#define DONE_LENGTH (sizeof done - 1)

/* ---- words -------------------------------------------------------------------------------------------------------- */

static void keep(char *room, uint8_t *length, uint8_t byte)
{
    if (*length < SSE_WORD) {
        room[*length] = (char)byte;
    }
    if (*length <= SSE_WORD) {
        ++*length;
    }
}

static bool is(const char *room, uint8_t length, const char *word)
{
    return length == strlen(word) && memcmp(room, word, length) == 0;
}

static bool is_named(const struct sse *sse, const char *name)
{
    return is(sse->name, sse->name_length, name);
}

/* ---- data --------------------------------------------------------------------------------------------------------- */

/* What an event of its JSON means. */
static void data_event(struct sse *sse, enum json_event event)
{
    switch (event) {
    case JSON_NOTHING:
        break;
    case JSON_MEMBER:
        if (sse->error == ERROR_KEY && sse->json.depth == 2) {
            sse->error = ERROR_SAID;
        } else if (sse->error != ERROR_SAID && sse->json.depth == 1) {
            sse->error = json_key_is(&sse->json, "error") ? ERROR_KEY : ERROR_NONE;
        }
        break;
    case JSON_STRING:
        if (sse->error == ERROR_KEY && sse->json.depth == 1 && sse->json.text_length > 0) {
            sse->error = ERROR_SAID;
        }
        break;
    }
}

static void data_feed(struct sse *sse, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length && sse->done <= DONE_LENGTH; i++) {
        bool goes_on = sse->done < DONE_LENGTH && bytes[i] == (uint8_t)done[sse->done];

        sse->done = goes_on ? (uint8_t)(sse->done + 1) : DONE_LENGTH + 1;
    }
    while (length > 0) {
        enum json_event event;
        size_t taken = json_feed(&sse->json, bytes, length, &event);

        data_event(sse, event);
        bytes += taken;
        length -= taken;
    }
}

/* A line of data begins; those of one event are one text, each on its line. */
static void data_begin(struct sse *sse)
{
    if (sse->data) {
        data_feed(sse, (const uint8_t *)"\n", 1);
    }
    sse->data = true;
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

/* A blank line: what came since the last one was an event. */
static unsigned dispatch(struct sse *sse)
{
    unsigned news = SSE_NOTHING;

    if (is_named(sse, "error") || sse->error == ERROR_SAID) {
        news = SSE_ERROR;
    } else if (is_named(sse, "message_stop") || sse->done == DONE_LENGTH) {
        news = SSE_DONE;
    } else if (sse->done > 0 && !is_named(sse, "ping")) {
        news = SSE_LIFE;
    }
    if (sse->data) {
        memset(&sse->json, 0, sizeof sse->json);
    }
    sse->data = false;
    sse->done = 0;
    sse->error = ERROR_NONE;
    sse->name_length = 0;
    return news;
}

/* The field's name is complete: where its value, if it has one, is to be read. */
static enum state field_state(struct sse *sse)
{
    if (is(sse->word, sse->word_length, "data")) {
        data_begin(sse);
        return DATA_BEGIN;
    }
    if (is(sse->word, sse->word_length, "event")) {
        sse->name_length = 0;
        return EVENT_BEGIN;
    }
    return SKIPPED;
}

static unsigned line_end(struct sse *sse)
{
    unsigned news = SSE_NOTHING;

    if (sse->state == LINE) {
        news = dispatch(sse);
    } else if (sse->state == FIELD) {
        (void)field_state(sse);
    }
    sse->state = LINE;
    return news;
}

/* ---- bytes -------------------------------------------------------------------------------------------------------- */

/* Not an end of line. */
static void byte_feed(struct sse *sse, uint8_t byte)
{
    if (sse->state == LINE) {
        sse->word_length = 0;
        sse->state = FIELD;
    }
    switch ((enum state)sse->state) {
    case LINE:
    case FIELD:
        if (byte == ':') {
            sse->state = (uint8_t)field_state(sse); /* a comment's name is empty */
        } else {
            keep(sse->word, &sse->word_length, byte);
        }
        break;
    case DATA_BEGIN:
        sse->state = DATA;
        if (byte != ' ') {
            data_feed(sse, &byte, 1);
        }
        break;
    case EVENT_BEGIN:
        sse->state = EVENT;
        if (byte != ' ') {
            keep(sse->name, &sse->name_length, byte);
        }
        break;
    case EVENT:
        keep(sse->name, &sse->name_length, byte);
        break;
    case DATA: /* all of them at once: rest_feed() */
    case SKIPPED:
        break;
    }
}

#define MARK_LENGTH 3

/* The byte order mark that a stream may begin with. True: this byte is of it. */
static bool mark_feed(struct sse *sse, uint8_t byte)
{
    static const uint8_t mark[MARK_LENGTH] = {0xef, 0xbb, 0xbf};

    if (sse->mark >= MARK_LENGTH) {
        return false;
    }
    if (byte == mark[sse->mark]) {
        sse->mark++;
        return true;
    }
    sse->mark = MARK_LENGTH; /* half of one is the name of a field that nobody knows */
    return false;
}

/* The rest of a line of data, or of one that does not matter, as far as it is there. */
static size_t rest_feed(struct sse *sse, const uint8_t *bytes, size_t length)
{
    const uint8_t *end;

    if (sse->state != DATA && sse->state != SKIPPED) {
        return 0;
    }
    end = memchr(bytes, '\n', length);
    length = end != NULL ? (size_t)(end - bytes) : length;
    end = memchr(bytes, '\r', length);
    length = end != NULL ? (size_t)(end - bytes) : length;
    if (sse->state == DATA) {
        data_feed(sse, bytes, length);
    }
    return length;
}

unsigned sse_feed(struct sse *sse, const uint8_t *bytes, size_t length)
{
    unsigned news = SSE_NOTHING;

    for (size_t at = 0; at < length && (news & (SSE_DONE | SSE_ERROR)) == 0;) {
        size_t many = rest_feed(sse, bytes + at, length - at);

        if (many > 0) {
            sse->carriage = false;
            at += many;
            continue;
        }
        uint8_t byte = bytes[at++];
        bool carriage = sse->carriage;

        if (mark_feed(sse, byte)) {
            continue;
        }
        sse->carriage = byte == '\r';
        if (byte != '\n' && byte != '\r') {
            byte_feed(sse, byte);
        } else if (byte == '\r' || !carriage) {
            news |= line_end(sse);
        }
    }
    return news;
}

unsigned sse_end(struct sse *sse)
{
    return (sse->state != LINE ? line_end(sse) : SSE_NOTHING) | dispatch(sse);
}
