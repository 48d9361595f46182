/*
 * Event streams in the shapes of those who send them, out of named events.
 */
#include "provider.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *text;
} events[] = {
    /* OpenAI */
    {"chunk",
     "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":"
     "{\"content\":\"the \\\"error\\\" is \"},\"finish_reason\":null}],\"error\":null}\n\n"},
    {"done", "data: [DONE]\n\n"},
    {"failure", "data: {\"error\":{\"message\":\"The server had an error\",\"type\":\"server_error\"}}\n\n"},
    /* Anthropic */
    {"start", "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\"}}\n\n"},
    {"delta",
     "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
     "{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\n"},
    {"ping", "event: ping\ndata: {\"type\": \"ping\"}\n\n"},
    {"stop", "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
    {"error",
     "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}"
     "\n\n"},
    {"comment", ": keep-alive\n\n"},
};

static const char *text_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        if (strlen(events[i].name) == length && memcmp(events[i].name, name, length) == 0) {
            return events[i].text;
        }
    }
    return NULL;
}

bool stream_known(const char *names)
{
    while (*names) {
        size_t length = strcspn(names, ",");
        if (!text_of(names, length)) {
            return false;
        }
        names += length + (names[length] == ',');
    }
    return true;
}

size_t stream_write(const struct host *script, char *out, size_t room, size_t at, size_t *ends, unsigned *count)
{
    *count = 0;
    for (const char *name = script->events; *name && *count < STREAM_EVENTS;) {
        size_t length = strcspn(name, ",");
        const char *text = text_of(name, length);
        int wrote = script->until_close ? snprintf(out + at, room - at, "%s", text)
                                        : snprintf(out + at, room - at, "%zx\r\n%s\r\n", strlen(text), text);
        at += (size_t)wrote;
        ends[(*count)++] = at;
        name += length + (name[length] == ',');
    }
    if (script->end == STREAM_WHOLE && !script->until_close) {
        at += (size_t)snprintf(out + at, room - at, "0\r\n\r\n");
        ends[(*count)++] = at;
    }
    return at;
}
