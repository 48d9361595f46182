/*
 * What the parts of the HTTP/1 parser share: http1.c walks the bytes of a message, http1_start.c reads its start line,
 * http1_head.c knows what the header fields mean; http1_whole.c takes at once what has arrived whole.
 */
#ifndef PROTOCOL_HTTP1_INNER_H
#define PROTOCOL_HTTP1_INNER_H

#include "protocol/http1.h"

enum http1_state {
    HTTP1_S_START, /* between messages; blank lines are passed over (RFC 9112 section 2.2) */
    HTTP1_S_METHOD,
    HTTP1_S_TARGET,
    HTTP1_S_SCHEME, /* letters that may turn out to be one */
    HTTP1_S_COLON,  /* behind the scheme's */
    HTTP1_S_SLASH,  /* and its first slash */
    HTTP1_S_AUTHORITY,
    HTTP1_S_TARGET_REST,
    HTTP1_S_VERSION,
    HTTP1_S_VERSION_END,
    HTTP1_S_STATUS,
    HTTP1_S_REASON,
    HTTP1_S_LINE, /* start of a header line; up to SKIPPED a head is being read, its start line was good */
    HTTP1_S_NAME,
    HTTP1_S_VALUE,
    HTTP1_S_SKIPPED, /* rest of a line that does not matter */
    HTTP1_S_BODY,
    HTTP1_S_CHUNK, /* start of a chunk's line */
    HTTP1_S_CHUNK_SIZE,
    HTTP1_S_CHUNK_BLANK,
    HTTP1_S_CHUNK_REST,
    HTTP1_S_CHUNK_DATA,
    HTTP1_S_CHUNK_END,
    HTTP1_S_TRAILER, /* start of a trailer's line */
    HTTP1_S_TRAILER_REST,
    HTTP1_S_UNTIL_CLOSE,
    HTTP1_S_FINISHED, /* HTTP1_END is to be told */
    HTTP1_S_OPAQUE
};

enum http1_flag {
    HTTP1_F_CR = 1,          /* the byte before was CR */
    HTTP1_F_ANSWER = 2,      /* this parser reads answers */
    HTTP1_F_OLD = 4,         /* HTTP/1.0 */
    HTTP1_F_CLOSE = 8,       /* Connection: close */
    HTTP1_F_KEEP = 16,       /* Connection: keep-alive */
    HTTP1_F_ENCODED = 32,    /* Transfer-Encoding names a coding */
    HTTP1_F_CHUNKED = 64,    /* and the last one is chunked */
    HTTP1_F_DOUBTFUL = 128,  /* the framing cannot be trusted */
    HTTP1_F_INTERIM = 256,   /* 1xx answers were passed over */
    HTTP1_F_PORT = 512,      /* of a host: behind its colon */
    HTTP1_F_HOST_END = 1024, /* of a host: behind it, only blanks may follow */
    HTTP1_F_HOST_BAD = 2048, /* of a host: not a name */
    HTTP1_F_WANTED = 4096,   /* the body is to be seen */
    HTTP1_F_OTHER = 8192     /* HTTP, but of another version */
};
/* What lasts from one message to the next. */
#define HTTP1_F_LASTING HTTP1_F_ANSWER

/* Whose line is being read. */
enum http1_field {
    HTTP1_FIELD_OTHER,
    HTTP1_FIELD_HOST,
    HTTP1_FIELD_LENGTH,
    HTTP1_FIELD_ENCODING,
    HTTP1_FIELD_CONNECTION,
    HTTP1_FIELD_TYPE,
    HTTP1_FIELD_CODING, /* Content-Encoding */
    HTTP1_FIELD_RETRY,  /* one of those that say when to come again */
    HTTP1_FIELD_NONE    /* no line of this head was read yet */
};

/* A method longer than this is none. The longest registered one has 17 letters. */
#define HTTP1_METHOD 24

/* What these tokens are, by case too. */
enum http1_method http1_method_of(const uint8_t *name, size_t length);

/* One byte of a start line, not CR or LF; the state that it leads to. */
enum http1_state http1_start_feed(struct http1 *parser, uint8_t byte);

/* Does word hold this text? */
bool http1_word_is(const struct http1 *parser, const char *text);

/* Appends to word, folded; what does not fit is noted by a length beyond it. */
void http1_word_add(struct http1 *parser, uint8_t byte);

/*
 * Takes as many bytes as can be taken at once; 0: look at them one by one. *event is what they tell.
 */
size_t http1_stretch(struct http1 *parser, const uint8_t *bytes, size_t length, enum http1_event *event);

/* Takes what there is of a body whose bytes are next. */
size_t http1_body(struct http1 *parser, size_t length);

/* A line ended, the status is known: what to tell. */
enum http1_event http1_line_end(struct http1 *parser);
enum http1_event http1_status_known(const struct http1 *parser);

/* What a byte may be part of. */
enum http1_class {
    HTTP1_C_TOKEN = 1,  /* methods and field names: letters, digits and the marks of RFC 9110 */
    HTTP1_C_TARGET = 2, /* targets: no blanks, no controls; UTF-8 that should have been encoded is common enough */
    HTTP1_C_HOST = 4    /* hosts without a port */
};
extern const uint8_t http1_classes[256];

static inline bool http1_is(uint8_t byte, enum http1_class what)
{
    return (http1_classes[byte] & what) != 0;
}

/* A field's name is in word: makes its line ready to be read. */
void http1_field_begin(struct http1 *parser);
/* One byte of its value, not CR or LF. */
void http1_field_feed(struct http1 *parser, uint8_t byte);
/* The line ended. */
void http1_field_end(struct http1 *parser);
/* All of that at once: a name of tokens, a value without CR or LF. */
void http1_field_take(struct http1 *parser, const uint8_t *name, size_t name_length, const uint8_t *value,
                      size_t length);

/* The host of a request, from a Host: line or an authority in its target: begin, bytes, end. */
void http1_host_begin(struct http1 *parser);
void http1_host_feed(struct http1 *parser, uint8_t byte);
void http1_host_end(struct http1 *parser);

/* How the message goes on behind its head. */
enum http1_framing {
    HTTP1_FRAMING_NONE,   /* no body */
    HTTP1_FRAMING_LENGTH, /* parser->left bytes, at least one */
    HTTP1_FRAMING_CHUNKED,
    HTTP1_FRAMING_CLOSE,   /* until the connection ends */
    HTTP1_FRAMING_INTERIM, /* it was a 1xx: the answer is still to come */
    HTTP1_FRAMING_OPAQUE   /* what follows is not HTTP, or cannot be told */
};
/* The head is complete: makes its facts final. */
enum http1_framing http1_head_end(struct http1 *parser);

#endif
