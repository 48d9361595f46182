/*
 * How the streams of HTTP/2 connections are judged: against real sockets on loopback, frame by frame.
 */
#include "suite.h"
#include "flow_rig.h"
#include "http2_rig.h"
#include "track/flow/streams.h"
#include "track/flow/streams_table.h"
#include <netinet/tcp.h>

static struct server server;
static struct provider *acme;
static int fd, peer;
static struct wire out, in; /* what the client, and the server, says next */

/* ---- both sides --------------------------------------------------------------------------------------------------- */

/* Written in pieces of this size. */
static ssize_t write_in(size_t piece)
{
    ssize_t result = 0;
    for (size_t at = 0; at < out.length && result >= 0; at += piece) {
        result = rig_send(fd, out.bytes + at, out.length - at < piece ? out.length - at : piece);
    }
    out.length = 0;
    return result;
}

static ssize_t say(void)
{
    return write_in(SIZE_MAX);
}

/* The server says it, and the client reads it, in pieces of this size. */
static void answer_in(size_t piece)
{
    ck_assert_int_eq(real_send(peer, in.bytes, in.length, MSG_NOSIGNAL), (ssize_t)in.length);
    while (in.length > 0) {
        char buffer[4096];
        uint64_t mark = fd_mark(fd);
        struct iovec iov = {buffer, piece < sizeof buffer ? piece : sizeof buffer};
        iov.iov_len = iov.iov_len < in.length ? iov.iov_len : in.length;
        ssize_t result = real_recv(fd, buffer, iov.iov_len, 0);
        ck_assert_int_gt(result, 0);
        in.length -= (size_t)result;
        if (mark != 0) {
            traffic_received(fd, mark, &iov, 1, 0, result);
        }
    }
}

static void answer(void)
{
    answer_in(SIZE_MAX);
}

static void dial(void)
{
    int at_once = 1;
    fd = rig_dial(&server, &peer);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    out.length = in.length = 0;
    put_preface(&out);
}

static void set_up_rule(const char *rule)
{
    rig_start(rule);
    server = rig_server();
    acme = rig_provider(&server, NULL);
    dial();
}

static void set_up(void)
{
    set_up_rule("acme 127.0.0.0/8");
}

/* Whatever is counted, nothing is refused. */
static void set_up_lenient(void)
{
    set_up_rule("acme 127.0.0.0/8 trip=0 min=1000000");
}

/* The client asks for these streams, at once. */
static void ask(uint32_t first, uint32_t last)
{
    for (uint32_t id = first; id <= last; id += 2) {
        put_headers(&out, id, END_STREAM, ":method=GET :scheme=http :authority=whatever.test :path=/");
    }
    ck_assert_int_gt(say(), 0);
}

static void greet(void)
{
    put_settings(&in);
}

static void answer_with(uint32_t id, const char *status)
{
    char fields[64];
    snprintf(fields, sizeof fields, ":status=%s", status);
    put_headers(&in, id, END_STREAM, fields);
}

static struct flow *flow_of_fd(void)
{
    struct flow *flow = flow_of(fd_mark(fd));
    ck_assert_ptr_nonnull(flow);
    return flow;
}

/* As if so much time had passed since the last frame. */
static void age(uint64_t ns)
{
    struct streams *streams = streams_at(flow_of_fd()->streams);
    struct streams_walk walk = {0, 0};
    rig_age(fd, ns);
    for (struct stream *stream = streams_next(streams, &walk); stream != NULL; stream = streams_next(streams, &walk)) {
        stream->moved -= ns;
        stream->began -= ns;
    }
}

#define failures(kind_) rig_view(acme).failures[kind_]

/* ---- answers ------------------------------------------------------------------------------------------------------ */

START_TEST(every_stream_is_a_call)
{
    ask(1, 9);
    rig_counts(acme, 0, 0, 0);
    ck_assert_uint_eq(rig_view(acme).inflight, 5);
    greet();
    answer_with(5, "200");
    answer_with(1, "503");
    answer_with(9, "404");
    answer();
    rig_counts(acme, 2, 1, 0);
    answer_with(3, "200");
    answer_with(7, "409");
    answer();
    rig_counts(acme, 3, 1, 1);
    ck_assert_uint_eq(rig_view(acme).inflight, 0);
    rig_close(fd);
    rig_counts(acme, 3, 1, 1);
}
END_TEST

/* A preface, two requests with bodies, and answers with everything that an answer may have. */
static void two_streams(size_t piece)
{
    put_headers(&out, 1, 0, ":method=POST :authority=whatever.test");
    put_frame(&out, DATA, 0, 1, "hello", 5);
    put_headers(&out, 3, END_STREAM, ":method=GET :authority=whatever.test");
    put_frame(&out, DATA, END_STREAM, 1, "", 0);
    ck_assert_int_gt(write_in(piece), 0);
    greet();
    put_headers(&in, 1, 0, ":status=100");
    put_headers(&in, 3, 0, ":status=200");
    put_headers(&in, 1, 0, ":status=200");
    put_frame(&in, DATA, PADDED, 1, "\1x", 3);
    put_frame(&in, DATA, END_STREAM, 3, "what", 4);
    put_frame(&in, PING, 0, 0, "12345678", 8);
    put_headers(&in, 1, END_STREAM, "x-checksum=0");
    answer_in(piece);
}

START_TEST(frames_say_the_same_in_pieces_of_any_size)
{
    two_streams((size_t)_i + 1);
    rig_counts(acme, 2, 0, 0);
    rig_close(fd);
    rig_counts(acme, 2, 0, 0);
}
END_TEST

/* The kernel takes some of what is written, or nothing; the client comes again with the rest, and with more. */
static void write_some(const uint8_t *bytes, size_t length, size_t taken)
{
    uint64_t mark = fd_mark(fd);
    struct iovec iov = {(void *)(uintptr_t)bytes, length};
    ck_assert(traffic_ask(fd, mark, &iov, 1));
    errno = EAGAIN;
    traffic_sent(fd, mark, &iov, 1, taken > 0 ? (ssize_t)taken : -1);
}

START_TEST(streams_behind_what_is_written_again_are_seen_before_they_are_written)
{
    put_headers(&out, 1, END_STREAM, ":method=GET");
    size_t first = out.length;
    put_headers(&out, 3, END_STREAM, ":method=GET");
    write_some(out.bytes, first, 0);
    write_some(out.bytes, first, 30);
    ck_assert_uint_eq(rig_view(acme).inflight, 1);
    struct iovec iov = {out.bytes + 30, out.length - 30};
    ck_assert(traffic_ask(fd, fd_mark(fd), &iov, 1));
    ck_assert_uint_eq(rig_view(acme).inflight, 2);
    traffic_sent(fd, fd_mark(fd), &iov, 1, (ssize_t)iov.iov_len);
    greet();
    answer_with(3, "200");
    answer_with(1, "503");
    answer();
    rig_counts(acme, 1, 1, 0);
}
END_TEST

START_TEST(status_that_decides_ends_the_call_with_the_head)
{
    ask(1, 3);
    greet();
    put_headers(&in, 1, 0, ":status=503");
    put_headers(&in, 3, 0, ":status=200");
    answer();
    rig_counts(acme, 0, 1, 0);
    put_frame(&in, DATA, END_STREAM, 1, "x", 1);
    put_frame(&in, DATA, END_STREAM, 3, "x", 1);
    answer();
    rig_counts(acme, 1, 1, 0);
}
END_TEST

START_TEST(thousand_streams_at_once_are_a_thousand_calls)
{
    ask(1, 1999);
    ck_assert_uint_eq(rig_view(acme).inflight, 1000);
    greet();
    for (uint32_t id = 1999; id > 0 && id < 2000; id -= 2) {
        answer_with(id, id / 2 % 5 == 0 ? "503" : "200");
    }
    answer();
    rig_counts(acme, 800, 200, 0);
}
END_TEST

/* The fields of the head and of the trailers, and what the call then is. */
static const struct {
    const char *head, *trailers;
    unsigned ok, failed;
    enum prebreak_kind kind;
} grpc[] = {
    {":status=200 content-type=application/grpc", "grpc-status=0", 1, 0, 0},
    {":status=200 content-type=application/grpc", "grpc-status=3", 1, 0, 0},
    {":status=200 content-type=application/grpc", "grpc-status=4", 0, 1, PREBREAK_KIND_TIMEOUT},
    {":status=200 content-type=application/grpc", "grpc-status=8", 0, 1, PREBREAK_KIND_STATUS},
    {":status=200 content-type=application/grpc", "grpc-status=13", 0, 1, PREBREAK_KIND_STATUS},
    {":status=200 content-type=application/grpc+proto", "grpc-status=14", 0, 1, PREBREAK_KIND_STATUS},
    {":status=200 content-type=application/grpc", "grpc-status=15", 0, 1, PREBREAK_KIND_STATUS},
    {":status=200 content-type=application/grpc", "x=y", 1, 0, 0},
    {":status=200 content-type=text/plain", "grpc-status=14", 1, 0, 0},
    {":status=200 content-type=application/grpc grpc-status=14", NULL, 0, 1, PREBREAK_KIND_STATUS},
    {":status=200 content-type=application/grpc grpc-status=5", NULL, 1, 0, 0},
    {":status=503 content-type=text/html", NULL, 0, 1, PREBREAK_KIND_STATUS},
};

START_TEST(call_of_grpc_ends_with_its_own_status)
{
    ask(1, 1);
    greet();
    put_headers(&in, 1, grpc[_i].trailers != NULL ? 0 : END_STREAM, grpc[_i].head);
    if (grpc[_i].trailers != NULL) {
        put_frame(&in, DATA, 0, 1, "\0\0\0\0\0", 5);
        answer();
        rig_counts(acme, 0, 0, 0);
        put_headers(&in, 1, END_STREAM, grpc[_i].trailers);
    }
    answer();
    rig_counts(acme, grpc[_i].ok, grpc[_i].failed, 0);
    ck_assert_uint_eq(failures(grpc[_i].kind), grpc[_i].failed);
}
END_TEST

#define EVENTS ":status=200 content-type=text/event-stream"

START_TEST(event_stream_fails_by_what_it_says_and_by_being_cut)
{
    ask(1, 9);
    greet();
    put_headers(&in, 1, 0, EVENTS);
    put_headers(&in, 3, 0, EVENTS);
    put_headers(&in, 5, 0, EVENTS);
    put_headers(&in, 7, 0, EVENTS);
    put_headers(&in, 9, 0, EVENTS);
    put_frame(&in, DATA, 0, 1, "data: x\n\n", 9);
    put_frame(&in, DATA, 0, 3, "event: error\ndata: {}\n\n", 23);
    put_frame(&in, DATA, 0, 5, "data: [DO", 9);
    answer();
    rig_counts(acme, 0, 1, 0);
    put_frame(&in, DATA, END_STREAM, 1, "data: y\n\n", 9);
    put_frame(&in, DATA, 0, 5, "NE]\n\n", 5);
    put_code(&in, RST_STREAM, 7, 2);
    answer();
    rig_counts(acme, 2, 2, 0);
    real_close(peer);
    rig_receive(fd, 0);
    rig_counts(acme, 2, 3, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_STREAM), 3);
}
END_TEST

START_TEST(body_of_a_429_says_whether_the_account_is_out_of_quota)
{
    const char quota[] = "{\"error\":{\"code\":\"insufficient_quota\"}}";
    ask(1, 5);
    greet();
    put_headers(&in, 1, 0, ":status=429");
    put_frame(&in, DATA, END_STREAM, 1, quota, strlen(quota));
    put_headers(&in, 3, 0, ":status=429");
    put_frame(&in, DATA, END_STREAM, 3, "{}", 2);
    put_headers(&in, 5, 0, ":status=429");
    answer();
    ck_assert_uint_eq(failures(PREBREAK_KIND_QUOTA), 1);
    ck_assert_uint_eq(failures(PREBREAK_KIND_STATUS), 1);
    rig_close(fd); /* before the last one's body: it was a 429 */
    ck_assert_uint_eq(failures(PREBREAK_KIND_STATUS), 2);
}
END_TEST

START_TEST(tunnel_is_answered_with_its_head)
{
    put_headers(&out, 1, 0, ":method=CONNECT");
    put_headers(&out, 3, 0, ":method=CONNECT :authority=whatever.test:443"); /* whom no rule names */
    ck_assert_int_gt(say(), 0);
    greet();
    put_headers(&in, 1, 0, ":status=200");
    put_headers(&in, 3, 0, ":status=503");
    answer();
    rig_counts(acme, 1, 0, 0);
    age(10 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

/* ---- streams that end otherwise ----------------------------------------------------------------------------------- */

START_TEST(server_that_refuses_a_stream_is_not_blamed)
{
    ask(1, 3);
    greet();
    put_code(&in, RST_STREAM, 1, HTTP2_REFUSED_STREAM);
    put_code(&in, RST_STREAM, 3, HTTP2_1_1_REQUIRED);
    answer();
    rig_counts(acme, 0, 0, 2);
}
END_TEST

START_TEST(server_that_resets_a_stream_failed)
{
    ask(1, 5);
    greet();
    put_code(&in, RST_STREAM, 1, 2);
    put_headers(&in, 3, 0, ":status=200");
    put_code(&in, RST_STREAM, 3, HTTP2_CANCEL);
    put_code(&in, RST_STREAM, 5, HTTP2_NO_ERROR);
    answer();
    rig_counts(acme, 0, 3, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_RESET), 3);
}
END_TEST

START_TEST(reset_behind_a_complete_answer_says_nothing)
{
    put_headers(&out, 1, 0, ":method=POST");
    ck_assert_int_gt(say(), 0);
    greet();
    answer_with(1, "200");
    put_code(&in, RST_STREAM, 1, HTTP2_NO_ERROR);
    answer();
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(stream_that_the_client_resets_soon_is_neutral)
{
    ask(1, 3);
    greet();
    answer_with(1, "200");
    answer();
    put_code(&out, RST_STREAM, 3, HTTP2_CANCEL);
    say();
    rig_counts(acme, 1, 0, 1);
    answer_with(3, "503"); /* it was on its way */
    answer();
    rig_counts(acme, 1, 0, 1);
}
END_TEST

START_TEST(stream_that_the_client_resets_after_a_wait_timed_out)
{
    ask(1, 3);
    greet();
    put_headers(&in, 3, 0, ":status=200");
    answer();
    age(2 * SECOND_NS);
    put_code(&out, RST_STREAM, 1, HTTP2_CANCEL);
    say();
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_TIMEOUT), 1);
    /* Of the other one, the head was there, and all of the rest was not read. */
    flow_of_fd()->drained = false;
    put_code(&out, RST_STREAM, 3, HTTP2_CANCEL);
    say();
    rig_counts(acme, 1, 1, 0);
}
END_TEST

START_TEST(frames_of_one_stream_are_no_life_of_another)
{
    ask(1, 3);
    greet();
    put_headers(&in, 3, 0, ":status=200");
    answer();
    age(2 * SECOND_NS);
    put_frame(&in, DATA, 0, 3, "x", 1);
    put_frame(&in, PING, 0, 0, "12345678", 8);
    answer();
    put_code(&out, RST_STREAM, 1, HTTP2_CANCEL);
    put_code(&out, RST_STREAM, 3, HTTP2_CANCEL);
    say();
    rig_counts(acme, 1, 1, 0);
}
END_TEST

START_TEST(streams_that_a_server_going_away_will_not_look_at_are_neutral)
{
    ask(1, 7);
    greet();
    put_goaway(&in, 3, HTTP2_NO_ERROR);
    answer();
    rig_counts(acme, 0, 0, 2);
    answer_with(1, "200");
    answer();
    rig_counts(acme, 1, 0, 2);
    real_close(peer);
    rig_receive(fd, 0);
    rig_counts(acme, 1, 1, 2);
}
END_TEST

/* ---- connections -------------------------------------------------------------------------------------------------- */

START_TEST(connection_never_used_is_ok_once_it_was_greeted)
{
    say();
    greet();
    answer();
    age(10 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(server_that_never_greets_timed_out)
{
    say();
    rig_age(fd, 2 * SECOND_NS);
    rig_close(fd);
    rig_counts(acme, 0, 1, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_TIMEOUT), 1);
}
END_TEST

START_TEST(server_may_greet_before_the_client_does)
{
    greet();
    answer();
    ask(1, 1);
    answer_with(1, "503");
    answer();
    rig_counts(acme, 0, 1, 0);
}
END_TEST

START_TEST(connection_that_breaks_fails_every_stream_on_it)
{
    ask(1, 5);
    greet();
    answer_with(1, "200");
    put_headers(&in, 3, 0, ":status=200");
    answer();
    rig_reset(peer);
    rig_receive(fd, 0);
    rig_counts(acme, 1, 2, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_RESET), 2);
}
END_TEST

START_TEST(connection_that_ends_while_idle_says_nothing)
{
    ask(1, 1);
    greet();
    answer_with(1, "200");
    answer();
    real_close(peer);
    rig_receive(fd, 0);
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(streams_on_a_connection_that_was_closed_while_idle_are_neutral)
{
    ask(1, 1);
    greet();
    answer_with(1, "200");
    answer();
    char buffer[4096];
    ck_assert_int_gt(real_recv(peer, buffer, sizeof buffer, 0), 0);
    real_close(peer);
    ask(3, 5);
    rig_receive(fd, 0);
    rig_counts(acme, 1, 0, 2);
}
END_TEST

START_TEST(streams_given_up_with_their_connection_timed_out_if_they_waited)
{
    ask(1, 5);
    greet();
    put_headers(&in, 5, 0, ":status=200");
    answer();
    age(2 * SECOND_NS);
    put_frame(&in, DATA, 0, 5, "x", 1);
    answer();
    rig_close(fd);
    rig_counts(acme, 1, 2, 0);
    ck_assert_uint_eq(failures(PREBREAK_KIND_TIMEOUT), 2);
}
END_TEST

START_TEST(what_is_no_http2_makes_it_opaque_and_its_calls_neutral)
{
    ask(1, 3);
    greet();
    put_frame(&in, SETTINGS, 0, 1, "", 0);
    answer_with(1, "503");
    answer();
    rig_counts(acme, 0, 0, 2);
    ck_assert_int_gt(rig_say(fd, "whatever"), 0);
    rig_close(fd);
    rig_counts(acme, 0, 0, 2);
}
END_TEST

START_TEST(answer_that_nobody_asked_for_makes_it_opaque)
{
    ask(1, 1);
    greet();
    answer_with(7, "503");
    answer();
    rig_counts(acme, 0, 0, 1);
}
END_TEST

START_TEST(pushed_streams_are_no_calls)
{
    ask(1, 1);
    greet();
    put_frame(&in, PUSH_PROMISE, END_HEADERS, 1, "\0\0\0\2\x82", 5);
    answer_with(2, "503");
    answer_with(1, "200");
    answer();
    rig_counts(acme, 1, 0, 0);
}
END_TEST

START_TEST(connection_upgraded_from_http1_is_read_on)
{
    rig_say(fd, "GET / HTTP/1.1\r\nHost: whatever.test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
    const char switching[] = "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    put(&in, switching, strlen(switching));
    greet();
    answer();
    rig_counts(acme, 1, 0, 0);
    ask(3, 3);
    answer_with(1, "503"); /* of the call that its 101 has ended */
    answer();
    rig_counts(acme, 1, 0, 0);
    answer_with(3, "503");
    answer();
    rig_counts(acme, 1, 1, 0);
    rig_close(fd);
    rig_counts(acme, 1, 1, 0);
}
END_TEST

/* ---- refused ------------------------------------------------------------------------------------------------------ */

static void trip(struct provider *provider)
{
    for (unsigned i = 0; i < 5000000 && rig_view(provider).phase != PREBREAK_OPEN; i++) {
        struct call call;
        if (call_admit(&call, provider)) {
            call_failed(&call, PREBREAK_KIND_CONNECT);
        }
    }
    ck_assert_int_eq(rig_view(provider).phase, PREBREAK_OPEN);
}

START_TEST(stream_on_an_idle_connection_is_refused_with_it)
{
    ask(1, 1);
    greet();
    answer_with(1, "200");
    answer();
    char buffer[4096];
    ck_assert_int_gt(real_recv(peer, buffer, sizeof buffer, 0), 0);
    trip(acme);
    uint64_t refused = rig_view(acme).total_refused;
    put_headers(&out, 3, END_STREAM, ":method=GET");
    ck_assert_int_eq(say(), -1);
    ck_assert_int_eq(errno, ECONNRESET);
    ck_assert_uint_eq(rig_view(acme).total_refused, refused + 1);
    ck_assert_int_eq(real_recv(fd, buffer, sizeof buffer, 0), 0); /* who reads is told at once */
    ck_assert_int_eq(rig_say(fd, "x"), -1);
    ck_assert_int_eq(real_recv(peer, buffer, sizeof buffer, MSG_DONTWAIT), -1); /* nothing of it has come */
    rig_close(fd);
}
END_TEST

START_TEST(stream_beside_another_is_let_through_and_counted)
{
    ask(1, 1);
    greet();
    answer();
    trip(acme);
    struct breaker_view before = rig_view(acme);
    ask(3, 3);
    answer_with(3, "200");
    answer_with(1, "200");
    answer();
    struct breaker_view view = rig_view(acme);
    ck_assert_uint_eq(view.outcome[PREBREAK_OK], before.outcome[PREBREAK_OK] + 2);
    ck_assert_uint_eq(view.would_refuse, before.would_refuse + 1);
    ck_assert_uint_eq(view.total_refused, before.total_refused);
}
END_TEST

START_TEST(what_says_nothing_of_a_stream_is_never_refused)
{
    ask(1, 1);
    greet();
    answer_with(1, "200");
    answer();
    trip(acme);
    put_frame(&out, PING, ACK, 0, "12345678", 8);
    put_goaway(&out, 0, HTTP2_NO_ERROR);
    ck_assert_int_gt(say(), 0);
}
END_TEST

/* ---- whatever comes ----------------------------------------------------------------------------------------------- */

/* A session that a real client had (see test_http2.c), with some bytes changed. */
static void mangle(const char *name, unsigned *seed)
{
    static uint8_t bytes[16384];
    char path[200];
    snprintf(path, sizeof path, "tests/fuzz/seeds/http2/%s", name);
    FILE *file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s: run from the top of the source tree", path);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    dial();
    out.length = HTTP2_PREFACE;
    say();
    for (size_t at = 0; at + 3 <= length;) {
        bool from_server = bytes[at] == 1;
        size_t part = (size_t)(bytes[at + 1] << 8 | bytes[at + 2]);
        at += 3;
        for (size_t i = at; i < at + part; i++) {
            *seed = *seed * 1103515245 + 12345;
            bytes[i] = *seed >> 16 == 0 || (*seed >> 8) % 300 != 0 ? bytes[i] : (uint8_t)(*seed >> 24);
        }
        put(from_server ? &in : &out, bytes + at, part);
        at += part;
        if (!from_server) {
            say();
        } else {
            answer_in(1 + (*seed >> 20) % 500);
        }
    }
    rig_close(fd);
    real_close(peer);
}

START_TEST(sessions_with_wrong_bytes_leave_nothing_behind)
{
    static const char *const names[] = {"nghttp-many",   "h2load",      "grpc",
                                        "nghttp-upload", "nghttp-push", "python-httpx"};
    unsigned seed = 1;
    rig_close(fd);
    for (unsigned i = 0; i < 600; i++) {
        mangle(names[i % COUNT(names)], &seed);
    }
    struct breaker_view view = rig_view(acme);
    ck_assert_uint_eq(view.inflight, 0);
    ck_assert_uint_gt(view.outcome[PREBREAK_OK], 600);
    ck_assert_uint_gt(view.outcome[PREBREAK_NEUTRAL], 100);
    ck_assert_uint_le(fdtable.connections.made, 1);
    ck_assert_uint_le(fdtable.streams.made, 64);
}
END_TEST

/* ---- names -------------------------------------------------------------------------------------------------------- */

START_TEST(stream_goes_to_the_name_that_it_is_for)
{
    rig_close(fd);
    struct provider *other = rig_provider(&server, "other.test");
    struct provider *own = rig_provider(&server, "own.test");
    ck_assert(other != own);
    names_resolved("other.test", &server.address, 1);
    names_resolved("own.test", &server.address, 1);
    dial();
    put_headers(&out, 1, END_STREAM, ":method=GET :authority=other.test");
    put_headers(&out, 3, END_STREAM, ":method=GET :authority=own.test");
    put_headers(&out, 5, END_STREAM, ":method=GET :authority=elsewhere.test");
    say();
    greet();
    answer_with(1, "503");
    answer_with(3, "200");
    answer_with(5, "200");
    answer();
    rig_counts(other, 1, 1, 0);
    rig_counts(own, 1, 0, 0);
}
END_TEST

static void set_up_names(void)
{
    rig_start("* *.test");
    server = rig_server();
    acme = NULL;
    dial();
}

int main(void)
{
    const TTest *const tests[] = {
        every_stream_is_a_call,
        streams_behind_what_is_written_again_are_seen_before_they_are_written,
        status_that_decides_ends_the_call_with_the_head,
        thousand_streams_at_once_are_a_thousand_calls,
        event_stream_fails_by_what_it_says_and_by_being_cut,
        body_of_a_429_says_whether_the_account_is_out_of_quota,
        tunnel_is_answered_with_its_head,
        server_that_refuses_a_stream_is_not_blamed,
        server_that_resets_a_stream_failed,
        reset_behind_a_complete_answer_says_nothing,
        stream_that_the_client_resets_soon_is_neutral,
        stream_that_the_client_resets_after_a_wait_timed_out,
        frames_of_one_stream_are_no_life_of_another,
        streams_that_a_server_going_away_will_not_look_at_are_neutral,
        connection_never_used_is_ok_once_it_was_greeted,
        server_that_never_greets_timed_out,
        server_may_greet_before_the_client_does,
        connection_that_breaks_fails_every_stream_on_it,
        connection_that_ends_while_idle_says_nothing,
        streams_on_a_connection_that_was_closed_while_idle_are_neutral,
        streams_given_up_with_their_connection_timed_out_if_they_waited,
        what_is_no_http2_makes_it_opaque_and_its_calls_neutral,
        answer_that_nobody_asked_for_makes_it_opaque,
        pushed_streams_are_no_calls,
        connection_upgraded_from_http1_is_read_on,
        stream_on_an_idle_connection_is_refused_with_it,
        stream_beside_another_is_let_through_and_counted,
        what_says_nothing_of_a_stream_is_never_refused,
    };
    Suite *suite = suite_create("streams");
    TCase *tcase = tcase_create("streams"), *names = tcase_create("names"), *wrong = tcase_create("wrong");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_checked_fixture(names, set_up_names, NULL);
    tcase_add_loop_test(tcase, frames_say_the_same_in_pieces_of_any_size, 0, 50);
    tcase_add_loop_test(tcase, call_of_grpc_ends_with_its_own_status, 0, (int)COUNT(grpc));
    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    tcase_add_checked_fixture(wrong, set_up_lenient, NULL);
    tcase_set_timeout(wrong, 60);
    tcase_add_test(wrong, sessions_with_wrong_bytes_leave_nothing_behind);
    tcase_add_test(names, stream_goes_to_the_name_that_it_is_for);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, names);
    suite_add_tcase(suite, wrong);
    return suite_run(suite);
}
