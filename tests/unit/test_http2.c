#include "suite.h"
#include "http2_rig.h"

/* ---- events as text ----------------------------------------------------------------------------------------------- */

struct trace {
    char text[4096];
    uint32_t body; /* the stream whose body was told last, whose pieces are told as one */
};

static void say(struct trace *trace, const char *words)
{
    size_t used = strlen(trace->text);

    snprintf(trace->text + used, sizeof trace->text - used, "%s%s", used > 0 ? " " : "", words);
}

static void say_headers(struct trace *trace, const struct http2 *parser)
{
    const struct http2_facts *facts = &parser->facts;
    char words[512];
    int used = snprintf(words, sizeof words, "H%u%s", parser->stream, parser->ends ? "." : "");

    if (facts->status != 0) {
        used += snprintf(words + used, sizeof words - (size_t)used, ",%u", facts->status);
    }
    if (facts->host[0] != '\0') {
        used += snprintf(words + used, sizeof words - (size_t)used, ",%s:%u", facts->host, facts->port);
    }
    if (facts->grpc_status != HTTP2_NONE) {
        used += snprintf(words + used, sizeof words - (size_t)used, ",grpc=%d", facts->grpc_status);
    }
    snprintf(words + used, sizeof words - (size_t)used, "%s%s%s%s", facts->connect ? ",connect" : "",
             facts->event_stream ? ",events" : "", facts->grpc ? ",grpc" : "", facts->encoded ? ",encoded" : "");
    say(trace, words);
}

static void tell(struct trace *trace, const struct http2 *parser, enum http2_event event)
{
    char words[64];

    switch (event) {
    case HTTP2_HEADERS:
        say_headers(trace, parser);
        break;
    case HTTP2_DATA:
        if (trace->body != parser->stream) {
            snprintf(words, sizeof words, "D%u", parser->stream);
            say(trace, words);
        }
        break;
    case HTTP2_END:
        snprintf(words, sizeof words, "E%u", parser->stream);
        say(trace, words);
        break;
    case HTTP2_RESET:
        snprintf(words, sizeof words, "R%u,%u", parser->stream, parser->code);
        say(trace, words);
        break;
    case HTTP2_GOAWAY:
        snprintf(words, sizeof words, "G%u,%u", parser->stream, parser->code);
        say(trace, words);
        break;
    case HTTP2_SETTINGS:
        snprintf(words, sizeof words, "S%u,%u", parser->table_size, parser->frame_size);
        say(trace, words);
        break;
    case HTTP2_OPAQUE:
        say(trace, "opaque");
        break;
    case HTTP2_MORE:
        break;
    }
    trace->body = event == HTTP2_DATA ? parser->stream : event == HTTP2_MORE ? trace->body : 0;
}

/* Bytes to a parser, in pieces of this size. */
static void feed(struct http2 *parser, const uint8_t *bytes, size_t length, size_t piece, struct trace *trace)
{
    for (size_t at = 0; at < length;) {
        size_t next = length - at < piece ? length - at : piece;
        enum http2_event event;

        do {
            size_t taken;

            event = http2_feed(parser, bytes + at, next, &taken);
            at += taken;
            next -= taken;
            tell(trace, parser, event);
            if (event == HTTP2_OPAQUE) {
                return;
            }
        } while (event != HTTP2_MORE);
        ck_assert_uint_eq(next, 0);
    }
}

static const char *run(const struct wire *wire, bool server, size_t piece)
{
    static struct http2 parser;
    static struct trace trace;

    memset(&trace, 0, sizeof trace);
    http2_begin(&parser, server);
    feed(&parser, wire->bytes, wire->length, piece, &trace);
    return trace.text;
}

/* It says this, whole and in pieces of every size up to a few frames', and cut in two at every byte. */
static void says(const struct wire *wire, bool server, const char *text)
{
    ck_assert_str_eq(run(wire, server, SIZE_MAX), text);
    for (size_t piece = 1; piece < 40; piece++) {
        ck_assert_str_eq(run(wire, server, piece), text);
    }
    for (size_t cut = 1; cut < wire->length; cut++) {
        static struct http2 parser;
        static struct trace trace;

        memset(&trace, 0, sizeof trace);
        http2_begin(&parser, server);
        feed(&parser, wire->bytes, cut, SIZE_MAX, &trace);
        if (strstr(trace.text, "opaque") == NULL) {
            feed(&parser, wire->bytes + cut, wire->length - cut, SIZE_MAX, &trace);
        }
        ck_assert_str_eq(trace.text, text);
    }
}

/* ---- sessions that real programs had with nginx and gRPC's server ------------------------------------------------ */

/*
 * tests/fuzz/seeds/http2/NAME, captured on loopback behind the client's preface: pieces of one byte direction (0: the
 * client's), two bytes length, and as many bytes.
 */
static const struct session {
    const char *name, *client, *server;
} sessions[] = {
    {"curl", "S0,0 H1.,127.0.0.1:35195", "S0,16777215 H1,200 D1 E1"},
    {"nghttp-many", "S0,0 H13.,127.0.0.1:49515 H15.,127.0.0.1:49515 H17.,127.0.0.1:49515 H19.,127.0.0.1:49515 G0,0",
     "S0,16777215 H13,200 D13 E13 H15,503 D15 E15 H17,429 D17 E17 H19,200,events D19 E19"},
    {"nghttp-push", "S0,0 H13.,127.0.0.1:55561 G2,0", "S0,16777215 H13,200 D13 E13 H2,200 D2 E2"},
    {"nghttp-upload", "S0,0 H13,127.0.0.1:43461 D13 E13 G0,0", "S0,16777215 H13,200 D13 E13 R13,0"},
    {"h2load",
     "S0,0 H1.,127.0.0.1:42439 H3.,127.0.0.1:42439 H5.,127.0.0.1:42439 H7.,127.0.0.1:42439 H9.,127.0.0.1:42439 "
     "H11.,127.0.0.1:42439 H13.,127.0.0.1:42439 H15.,127.0.0.1:42439 H17.,127.0.0.1:42439 H19.,127.0.0.1:42439 "
     "H21.,127.0.0.1:42439 H23.,127.0.0.1:42439 G0,0",
     "S0,16777215 H1,200 D1 E1 H3,200 D3 E3 H5,200 D5 E5 H7,200 D7 E7 H9,200 D9 E9 H11,200 D11 E11 H13,200 D13 E13 "
     "H15,200 D15 E15 H17,200 D17 E17 H19,200 D19 E19 H21,200 D21 E21 H23,200 D23 E23"},
    {"python-httpx", "S4096,16384 H1.,127.0.0.1:45647 H3.,127.0.0.1:45647", "S0,16777215 H1,200 D1 E1 H3,503 D3 E3"},
    {"grpc",
     "S0,4194303 H1,127.0.0.1:57553,grpc D1 E1 H3,127.0.0.1:57553,grpc D3 E3 H5,127.0.0.1:57553,grpc D5 E5 "
     "H7,127.0.0.1:57553,grpc D7 E7 H9,127.0.0.1:57553,grpc D9 E9",
     "S0,4194303 H1,200,grpc D1 H1.,grpc=0 H3.,200,grpc=14,grpc H5.,200,grpc=4,grpc H7.,200,grpc=3,grpc H9,200,grpc D9 "
     "H9.,grpc=0"},
};

static void run_session(const char *name, size_t piece, struct trace traces[2])
{
    static struct http2 parsers[2];
    static uint8_t bytes[16384];
    char path[200];

    snprintf(path, sizeof path, "tests/fuzz/seeds/http2/%s", name);
    FILE *file = fopen(path, "rb");

    ck_assert_msg(file != NULL, "%s: run from the top of the source tree", path);
    size_t length = fread(bytes, 1, sizeof bytes, file);

    fclose(file);
    memset(traces, 0, 2 * sizeof *traces);
    http2_begin(&parsers[0], false);
    http2_begin(&parsers[1], true);
    for (size_t at = 0; at + 3 <= length;) {
        int side = bytes[at] & 1;
        size_t part = (size_t)(bytes[at + 1] << 8 | bytes[at + 2]);

        ck_assert_uint_le(at + 3 + part, length);
        feed(&parsers[side], bytes + at + 3, part, piece, &traces[side]);
        http2_allow(&parsers[1 - side], parsers[side].table_size, parsers[side].frame_size);
        at += 3 + part;
    }
}

START_TEST(real_sessions_are_read_to_their_end)
{
    const struct session *session = &sessions[_i];
    struct trace traces[2];

    for (size_t piece = 1; piece < 4000; piece = piece * 3 + 1) {
        run_session(session->name, piece, traces);
        ck_assert_msg(strcmp(traces[0].text, session->client) == 0, "%s: %s", session->name, traces[0].text);
        ck_assert_msg(strcmp(traces[1].text, session->server) == 0, "%s: %s", session->name, traces[1].text);
    }
}
END_TEST

/* ---- streams ------------------------------------------------------------------------------------------------------ */

static struct wire wire;

static void begin(void)
{
    wire.length = 0;
    put_settings(&wire);
}

START_TEST(request_says_whom_it_is_for_and_where_it_ends)
{
    begin();
    put_headers(&wire, 1, END_STREAM, ":method=GET :scheme=https :authority=API.Example.com. :path=/");
    put_headers(&wire, 3, 0, ":method=POST :authority=api.example.com:8443");
    put_frame(&wire, DATA, 0, 3, "hello", 5);
    put_frame(&wire, DATA, 0, 3, "", 0);
    put_frame(&wire, DATA, END_STREAM, 3, "", 0);
    says(&wire, false, "S0,0 H1.,api.example.com:0 H3,api.example.com:8443 D3 E3");
}
END_TEST

START_TEST(answers_say_their_status_and_what_they_are)
{
    begin();
    put_headers(&wire, 1, 0, ":status=200 content-type=text/event-stream;charset=utf-8");
    put_headers(&wire, 3, END_STREAM, ":status=503 content-encoding=gzip content-type=text/plain");
    put_frame(&wire, DATA, END_STREAM, 1, "data: x\n\n", 9);
    says(&wire, true, "S0,0 H1,200,events H3.,503,encoded D1 E1");
}
END_TEST

START_TEST(interim_answers_and_trailers_are_blocks_of_their_own)
{
    begin();
    put_headers(&wire, 1, 0, ":status=103 link=x");
    put_headers(&wire, 1, 0, ":status=200 content-type=application/grpc+proto");
    put_frame(&wire, DATA, 0, 1, "12345", 5);
    put_headers(&wire, 1, END_STREAM, "grpc-status=14 grpc-message=gone");
    says(&wire, true, "S0,0 H1,103 H1,200,grpc D1 H1.,grpc=14");
}
END_TEST

START_TEST(header_block_goes_on_in_continuations)
{
    struct wire block = {.length = 0};

    begin();
    put_fields(&block, ":status=200 server=somebody content-type=text/event-stream");
    put_frame(&wire, HEADERS, END_STREAM, 5, block.bytes, 10);
    put_frame(&wire, CONTINUATION, 0, 5, block.bytes + 10, 1);
    put_frame(&wire, CONTINUATION, 0, 5, "", 0);
    put_frame(&wire, CONTINUATION, END_HEADERS, 5, block.bytes + 11, block.length - 11);
    says(&wire, true, "S0,0 H5.,200,events");
}
END_TEST

START_TEST(padding_and_priority_are_no_part_of_anything)
{
    struct wire block = {.length = 0}, data = {.length = 0};

    begin();
    put_number(&block, 7, 1);
    put_number(&block, 0x80000001, 4);
    put_number(&block, 16, 1);
    put_fields(&block, ":status=204");
    put(&block, "\xff\xff\xff\xff\xff\xff\xff", 7);
    put_frame(&wire, HEADERS, PADDED | WITH_PRIORITY | END_HEADERS, 1, block.bytes, block.length);
    put_number(&data, 2, 1);
    put(&data, "abc\0\0", 5);
    put_frame(&wire, DATA, PADDED, 1, data.bytes, data.length);
    put_frame(&wire, DATA, PADDED | END_STREAM, 1, "\2\0\0", 3);
    says(&wire, true, "S0,0 H1,204 D1 E1");
}
END_TEST

START_TEST(pushed_request_is_no_request_but_changes_the_table)
{
    struct wire block = {.length = 0};

    begin();
    put_number(&block, 2, 4);
    put(&block,
        "\x48\3"
        "418",
        5); /* :status 418, put into the table: it is of no request, but nobody minds here */
    put_frame(&wire, PUSH_PROMISE, END_HEADERS, 1, block.bytes, block.length);
    put_frame(&wire, HEADERS, END_HEADERS, 1, "\xbe", 1);
    says(&wire, true, "S0,0 H1,418");
}
END_TEST

START_TEST(resets_goaways_and_settings_are_told)
{
    begin();
    put_code(&wire, RST_STREAM, 3, HTTP2_REFUSED_STREAM);
    put_goaway(&wire, 5, 11);
    put_frame(&wire, SETTINGS, 0, 0, "\0\1\0\0\0\0\0\3\0\0\0\x64\0\5\0\1\0\0", 18);
    put_frame(&wire, SETTINGS, ACK, 0, "", 0);
    says(&wire, true, "S0,0 R3,7 G5,11 S0,65536");
}
END_TEST

START_TEST(what_says_nothing_of_a_stream_is_passed_over)
{
    begin();
    put_frame(&wire, PING, 0, 0, "12345678", 8);
    put_frame(&wire, PRIORITY, 0, 3, "12345", 5);
    put_code(&wire, WINDOW_UPDATE, 0, 100);
    put_code(&wire, WINDOW_UPDATE, 1, 100);
    put_frame(&wire, 0x0c, 0xff, 0, "an extension", 12); /* ORIGIN */
    put_frame(&wire, 0xfa, 0xff, 7, "", 0);
    put_headers(&wire, 1, 0x50, ":status=200"); /* flags that nobody knows */
    says(&wire, true, "S0,0 H1,200");
}
END_TEST

START_TEST(settings_of_one_side_allow_the_other)
{
    static struct http2 parser;
    static uint8_t much[20000];
    struct trace trace = {.body = 0};

    begin();
    put_frame(&wire, DATA, 0, 1, much, sizeof much);
    says(&wire, true, "S0,0 opaque");
    http2_begin(&parser, true);
    http2_allow(&parser, 0, 20000);
    feed(&parser, wire.bytes, wire.length, SIZE_MAX, &trace);
    ck_assert_str_eq(trace.text, "S0,0 D1");

    begin();
    put_frame(&wire, HEADERS, END_HEADERS, 1, "\x3f\xe1\x3f\x88", 4); /* a table of 8192 bytes */
    says(&wire, true, "S0,0 opaque");
    http2_begin(&parser, true);
    memset(&trace, 0, sizeof trace);
    http2_allow(&parser, 8192, 0);
    feed(&parser, wire.bytes, wire.length, SIZE_MAX, &trace);
    ck_assert_str_eq(trace.text, "S0,0 H1,200");
}
END_TEST

START_TEST(bytes_of_a_body_are_known_before_they_come)
{
    static struct http2 parser;
    struct trace trace = {.body = 0};

    begin();
    put_frame(&wire, DATA, END_STREAM, 1, "0123456789", 10);
    http2_begin(&parser, true);
    ck_assert_uint_eq(http2_passing(&parser), 0);
    feed(&parser, wire.bytes, 9 + 9 + 4, SIZE_MAX, &trace);
    ck_assert_uint_eq(http2_passing(&parser), 6);
    feed(&parser, wire.bytes + 9 + 9 + 4, 6, SIZE_MAX, &trace);
    ck_assert_uint_eq(http2_passing(&parser), 0);
    ck_assert_str_eq(trace.text, "S0,0 D1 E1");
}
END_TEST

START_TEST(server_greets_with_settings)
{
    begin();
    ck_assert(http2_greets(wire.bytes, wire.length));
    ck_assert(!http2_greets(wire.bytes, HTTP2_HEAD - 1));
    ck_assert(http2_greets((const uint8_t *)"\0\0\x12\4\0\0\0\0\0", 9));
    ck_assert(!http2_greets((const uint8_t *)"\0\0\x13\4\0\0\0\0\0", 9));
    ck_assert(!http2_greets((const uint8_t *)"\0\0\0\4\1\0\0\0\0", 9)); /* an ack */
    ck_assert(!http2_greets((const uint8_t *)"\x4a\0\0\0\x0a"
                                             "5.5.5-",
                            11)); /* MariaDB */
    ck_assert(!http2_greets((const uint8_t *)"SSH-2.0-OpenSSH", 15));
}
END_TEST

/* ---- fields ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *fields, *said;
} fields[] = {
    {":authority=example.com:443", "H1,example.com:443"},
    {":authority=EXAMPLE.com.:8080", "H1,example.com:8080"},
    {":authority=example.com:", "H1,example.com:0"},
    {":authority=example.com:65536", "H1"},
    {":authority=example.com:80x", "H1"},
    {":authority=[::1]:50051", "H1"},
    {":authority=user@example.com", "H1"},
    {":authority=.", "H1"},
    {":authority=a.example :authority=b.example", "H1"},
    {"host=a.example", "H1,a.example:0"},
    {"host=a.example host=b.example", "H1"},
    {":authority=a.example host=b.example", "H1,a.example:0"},
    {"host=b.example :authority=a.example:1", "H1,a.example:1"},
    {":method=CONNECT :authority=a.example:443", "H1,a.example:443,connect"},
    {":method=connect", "H1"},
    {":status=429", "H1,429"},
    {":status=099", "H1"},
    {":status=2000", "H1"},
    {":status=200 :status=503", "H1"},
    {"content-type=Text/Event-Stream", "H1,events"},
    {"content-type=text/event-streams", "H1"},
    {"content-type=text/event-stream content-type=text/plain", "H1"},
    {"content-type=application/grpc", "H1,grpc"},
    {"content-type=application/grpc;x=y", "H1,grpc"},
    {"content-type=application/grpc-web", "H1"},
    {"content-encoding=identity", "H1"},
    {"grpc-status=0", "H1,grpc=0"},
    {"grpc-status=16", "H1,grpc=16"},
    {"grpc-status=17", "H1"},
    {"grpc-status=-1", "H1"},
    {"grpc-status=4 grpc-status=4", "H1"},
};

START_TEST(fields_mean_what_they_say)
{
    char text[300];

    begin();
    put_headers(&wire, 1, 0, fields[_i].fields);
    snprintf(text, sizeof text, "S0,0 %s", fields[_i].said);
    ck_assert_str_eq(run(&wire, true, SIZE_MAX), text);
    ck_assert_str_eq(run(&wire, true, 1), text);
}
END_TEST

START_TEST(facts_of_one_block_say_nothing_of_the_next)
{
    begin();
    put_headers(&wire, 1, 0, ":method=CONNECT :authority=a.example:1 content-type=application/grpc grpc-status=3");
    put_headers(&wire, 3, 0, ":path=/");
    says(&wire, false, "S0,0 H1,a.example:1,grpc=3,connect,grpc H3");
}
END_TEST

START_TEST(provider_says_when_it_wants_to_be_called_again)
{
    static struct http2 parser;
    struct trace trace = {.body = 0};

    begin();
    put_headers(&wire, 1, 0, ":status=429 retry-after=17");
    put_headers(&wire, 3, 0, ":status=429 retry-after-ms=250");
    http2_begin(&parser, true);
    feed(&parser, wire.bytes, wire.length - 1, SIZE_MAX, &trace);
    ck_assert_str_eq(trace.text, "S0,0 H1,429");
    feed(&parser, wire.bytes + wire.length - 1, 1, SIZE_MAX, &trace);
    ck_assert_uint_eq(retry_after(&parser.facts.retry, RETRY_BY_ALL, 0), UINT64_C(250000000));

    begin();
    put_headers(&wire, 1, 0, ":status=429 retry-after=17");
    http2_begin(&parser, true);
    feed(&parser, wire.bytes, wire.length, SIZE_MAX, &trace);
    ck_assert_uint_eq(retry_after(&parser.facts.retry, RETRY_BY_ALL, 0), UINT64_C(17000000000));
}
END_TEST

/* ---- malformed ---------------------------------------------------------------------------------------------------- */

/* A frame behind the first SETTINGS, or with `first` in its place. */
static const struct {
    const char *what;
    bool first;
    int type, flags;
    uint32_t stream;
    const char *payload;
    size_t length;
} malformed[] = {
    {"no settings first", true, PING, 0, 0, "12345678", 8},
    {"an acknowledgement first", true, SETTINGS, ACK, 0, "", 0},
    {"data of no stream", false, DATA, 0, 0, "x", 1},
    {"headers of no stream", false, HEADERS, END_HEADERS, 0, "\x88", 1},
    {"settings of a stream", false, SETTINGS, 0, 1, "", 0},
    {"settings that are cut", false, SETTINGS, 0, 0, "\0\1\0\0\0", 5},
    {"an acknowledgement with settings", false, SETTINGS, ACK, 0, "\0\1\0\0\0\0", 6},
    {"a ping of a stream", false, PING, 0, 1, "12345678", 8},
    {"a short ping", false, PING, 0, 0, "1234567", 7},
    {"a short reset", false, RST_STREAM, 0, 1, "123", 3},
    {"a long reset", false, RST_STREAM, 0, 1, "12345", 5},
    {"a short goaway", false, GOAWAY, 0, 0, "1234567", 7},
    {"a short window", false, WINDOW_UPDATE, 0, 0, "123", 3},
    {"a long priority", false, PRIORITY, 0, 1, "123456", 6},
    {"a promise without its stream", false, PUSH_PROMISE, END_HEADERS, 1, "\0\0\0", 3},
    {"more padding than data", false, DATA, PADDED, 1, "\2x", 2},
    {"no room for the padding's length", false, DATA, PADDED, 1, "", 0},
    {"no room for the priority", false, HEADERS, WITH_PRIORITY | END_HEADERS, 1, "\0\0\0\0", 4},
    {"a continuation of nothing", false, CONTINUATION, END_HEADERS, 1, "\x88", 1},
    {"a block that ends within a field", false, HEADERS, END_HEADERS, 1,
     "\x48\3"
     "41",
     4},
    {"a field that is not there", false, HEADERS, END_HEADERS, 1, "\xbe", 1},
};

START_TEST(malformed_frames_turn_it_opaque)
{
    wire.length = 0;
    if (!malformed[_i].first) {
        put_settings(&wire);
    }
    put_frame(&wire, malformed[_i].type, malformed[_i].flags, malformed[_i].stream, malformed[_i].payload,
              malformed[_i].length);
    put_headers(&wire, 7, 0, ":status=200");
    ck_assert_msg(strcmp(run(&wire, true, SIZE_MAX), malformed[_i].first ? "opaque" : "S0,0 opaque") == 0, "%s: %s",
                  malformed[_i].what, run(&wire, true, SIZE_MAX));
    says(&wire, true, malformed[_i].first ? "opaque" : "S0,0 opaque");
}
END_TEST

START_TEST(nothing_may_come_between_the_frames_of_a_block)
{
    begin();
    put_frame(&wire, HEADERS, 0, 1, "\x88", 1);
    put_frame(&wire, PING, 0, 0, "12345678", 8);
    says(&wire, true, "S0,0 opaque");
    begin();
    put_frame(&wire, HEADERS, 0, 1, "\x88", 1);
    put_frame(&wire, CONTINUATION, END_HEADERS, 3, "\x88", 1);
    says(&wire, true, "S0,0 opaque");
}
END_TEST

START_TEST(client_promises_nothing)
{
    begin();
    put_frame(&wire, PUSH_PROMISE, END_HEADERS, 1, "\0\0\0\2\x82", 5);
    says(&wire, false, "S0,0 opaque");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        request_says_whom_it_is_for_and_where_it_ends,
        answers_say_their_status_and_what_they_are,
        interim_answers_and_trailers_are_blocks_of_their_own,
        header_block_goes_on_in_continuations,
        padding_and_priority_are_no_part_of_anything,
        pushed_request_is_no_request_but_changes_the_table,
        resets_goaways_and_settings_are_told,
        what_says_nothing_of_a_stream_is_passed_over,
        settings_of_one_side_allow_the_other,
        bytes_of_a_body_are_known_before_they_come,
        server_greets_with_settings,
        facts_of_one_block_say_nothing_of_the_next,
        provider_says_when_it_wants_to_be_called_again,
        nothing_may_come_between_the_frames_of_a_block,
        client_promises_nothing,
    };
    Suite *suite = suite_create("http2");
    TCase *tcase = tcase_create("http2");

    tcase_add_loop_test(tcase, real_sessions_are_read_to_their_end, 0, (int)COUNT(sessions));
    tcase_add_loop_test(tcase, fields_mean_what_they_say, 0, (int)COUNT(fields));
    tcase_add_loop_test(tcase, malformed_frames_turn_it_opaque, 0, (int)COUNT(malformed));
    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
