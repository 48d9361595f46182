/*
 * Events: what is put comes out, once and in order, whatever else is going on; and one line says it.
 */
#include "state_fixture.h"
#include "state/event.h"
#include <jansson.h>

static struct state state;

static void begin(void)
{
    fixture_begin();
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
}

/* The example of the contract, at a time that is known. */
static struct event example(void)
{
    struct event event;

    event_begin(&event, &state, EVENT_PHASE, "openai");
    event.time = UINT64_C(1796083839123456789);
    event.change = (struct breaker_change){PREBREAK_CLOSED, PREBREAK_OPEN, BREAKER_REASON_STREAK, 12, 10, 0, 65535};
    event.policy = PREBREAK_SRE;
    event.mode = PREBREAK_MODE_ENFORCE;
    event.pid = 4711;
    strcpy(event.comm, "php-fpm8.2");
    return event;
}

static const char *line_of(const struct event *event, enum event_format format)
{
    static char line[EVENT_LINE + 1];
    size_t length = event_format(event, format, line, EVENT_LINE);

    ck_assert_uint_gt(length, 0);
    ck_assert_uint_le(length, EVENT_LINE);
    ck_assert_int_eq(line[length - 1], '\n');
    ck_assert_ptr_null(memchr(line, '\n', length - 1));
    line[length] = '\0';
    return line;
}

/* ---- the ring --------------------------------------------------------------------------------------------------- */

START_TEST(an_event_comes_out_as_it_went_in)
{
    struct event in = example(), out;

    strcpy(in.text, "for 10m");
    errno = EXFULL;
    event_put(&state, &in);
    ck_assert_uint_eq(in.sequence, 1);
    ck_assert(event_next(&state, 0, &out));
    ck_assert_int_eq(errno, EXFULL);
    ck_assert_int_eq(out.what, in.what);
    ck_assert_uint_eq(out.time, in.time);
    ck_assert_uint_eq(out.sequence, 1);
    ck_assert_mem_eq(&out.change, &in.change, sizeof in.change);
    ck_assert_int_eq(out.policy, in.policy);
    ck_assert_int_eq(out.mode, in.mode);
    ck_assert_uint_eq(out.pid, in.pid);
    ck_assert_str_eq(out.comm, in.comm);
    ck_assert_str_eq(out.name, in.name);
    ck_assert_str_eq(out.text, in.text);
    ck_assert(!event_next(&state, 1, &out));
}
END_TEST

START_TEST(an_event_begins_with_who_and_when)
{
    struct event event;

    event_begin(&event, &state, EVENT_OFF, NULL);
    ck_assert_uint_eq(event.pid, (uint32_t)getpid());
    ck_assert_uint_eq(strlen(event.comm), strnlen(program_invocation_short_name, PREBREAK_COMM - 1));
    ck_assert_int_eq(strncmp(event.comm, program_invocation_short_name, strlen(event.comm)), 0);
    ck_assert_str_eq(event.name, "");
    ck_assert_uint_gt(event.time, UINT64_C(1700000000000000000));
}
END_TEST

START_TEST(the_ring_keeps_the_last_ones_in_order)
{
    struct event event = example(), out;
    uint64_t after = 0;
    int count = 0;

    for (uint32_t i = 1; i <= 1000; i++) {
        event.change.ok = i;
        event_put(&state, &event);
    }
    while (event_next(&state, after, &out)) {
        ck_assert_uint_gt(out.sequence, after);
        ck_assert_uint_eq(out.sequence, out.change.ok);
        after = out.sequence;
        count++;
    }
    ck_assert_uint_eq(after, 1000);
    ck_assert_int_eq(count, PREBREAK_EVENTS);
}
END_TEST

START_TEST(what_is_only_half_written_is_not_shown)
{
    struct event event = example(), out;

    event_put(&state, &event);
    event_put(&state, &event);
    if (_i == 0) {
        state.region->event[1].sequence |= 1; /* died in the middle */
    } else if (_i == 1) {
        state.region->event[1].ok++; /* two writers met */
    } else if (_i == 2) {
        state.region->event[1].sequence += 2 * PREBREAK_EVENTS; /* another one's number */
    } else {
        state.region->event[1].name[0] ^= 1;
    }
    ck_assert(event_next(&state, 0, &out));
    ck_assert_uint_eq(out.sequence, 2);
    ck_assert(!event_next(&state, 2, &out));
}
END_TEST

START_TEST(events_that_hold_what_none_can_are_not_shown)
{
    struct event event = example(), out;

    if (_i == 0) {
        event.what = EVENT_WHATS;
    } else if (_i == 1) {
        event.change.to = PREBREAK_PHASES;
    } else if (_i == 2) {
        event.policy = PREBREAK_POLICIES;
    } else {
        strcpy(event.name, "a\nb");
    }
    event_put(&state, &event);
    ck_assert(!event_next(&state, 0, &out));
}
END_TEST

START_TEST(a_ring_of_garbage_shows_nothing_and_heals)
{
    uint64_t seed = UINT64_C(88172645463325252), after = 0;
    struct event event = example(), out;
    int count = 0;

    for (size_t i = 0; i < sizeof state.region->event / 8; i++) {
        uint64_t word = fixture_random(&seed);
        memcpy((char *)state.region->event + i * 8, &word, sizeof word);
    }
    state.region->header.next_event = _i ? UINT64_MAX - 3 : fixture_random(&seed);
    ck_assert(!event_next(&state, 0, &out));
    for (int i = 0; i < 3 * PREBREAK_EVENTS; i++) {
        event_put(&state, &event);
    }
    while (event_next(&state, after, &out)) {
        after = out.sequence;
        count++;
    }
    ck_assert_int_eq(count, PREBREAK_EVENTS);
}
END_TEST

START_TEST(readers_see_only_whole_events_while_many_write)
{
    enum { WRITERS = 4, EACH = 3000 };
    pid_t writers[WRITERS];
    uint64_t after = 0, seen = 0;
    struct event out;

    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] == 0) {
            struct event event = example();
            for (uint32_t j = 0; j < EACH; j++) {
                uint32_t stamp = i * EACH + j;
                event.change.ok = event.change.failed = event.change.refused = event.pid = stamp;
                snprintf(event.name, sizeof event.name, "p%u", stamp);
                snprintf(event.text, sizeof event.text, "%u", stamp);
                event_put(&state, &event);
            }
            _exit(0);
        }
    }
    while (seen < 2000 && state.region->header.next_event < WRITERS * EACH) {
        while (event_next(&state, after, &out)) {
            char expected[16];
            snprintf(expected, sizeof expected, "p%u", out.pid);
            ck_assert_str_eq(out.name, expected);
            ck_assert_str_eq(out.text, expected + 1);
            ck_assert_uint_eq(out.change.ok, out.pid);
            ck_assert_uint_eq(out.change.refused, out.pid);
            after = out.sequence;
            seen++;
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        ck_assert_int_eq(fixture_wait(writers[i]), 0);
    }
    ck_assert_uint_eq(state.region->header.next_event, WRITERS * EACH);
    int kept = 0;
    for (after = 0; event_next(&state, after, &out); after = out.sequence) {
        kept++;
    }
    ck_assert_int_ge(kept, PREBREAK_EVENTS - WRITERS); /* lost only where two met a whole ring apart */
}
END_TEST

/* ---- the line --------------------------------------------------------------------------------------------------- */

START_TEST(a_change_of_phase_reads_as_the_contract_says)
{
    struct event event = example();

    ck_assert_str_eq(line_of(&event, EVENT_LOGFMT),
                     "ts=2026-12-01T00:10:39.123Z level=warn event=phase provider=openai from=closed to=open "
                     "reason=streak policy=sre mode=enforce ok=12 failed=10 refused=0 drop=1.00 pid=4711 "
                     "comm=php-fpm8.2\n");
    ck_assert_str_eq(line_of(&event, EVENT_JSON),
                     "{\"ts\":\"2026-12-01T00:10:39.123Z\",\"level\":\"warn\",\"event\":\"phase\","
                     "\"provider\":\"openai\",\"from\":\"closed\",\"to\":\"open\",\"reason\":\"streak\","
                     "\"policy\":\"sre\",\"mode\":\"enforce\",\"ok\":12,\"failed\":10,\"refused\":0,\"drop\":1.00,"
                     "\"pid\":4711,\"comm\":\"php-fpm8.2\"}\n");
}
END_TEST

START_TEST(times_are_right_over_leap_years_and_centuries)
{
    static const struct {
        uint64_t seconds;
        const char *text;
    } times[] = {
        {0, "1970-01-01T00:00:00.000Z"},          {951782399, "2000-02-28T23:59:59.000Z"},
        {951782400, "2000-02-29T00:00:00.000Z"},  {951868800, "2000-03-01T00:00:00.000Z"},
        {1709164800, "2024-02-29T00:00:00.000Z"}, {1735689599, "2024-12-31T23:59:59.000Z"},
        {4107542400, "2100-03-01T00:00:00.000Z"}, {4107542399, "2100-02-28T23:59:59.000Z"},
    };
    struct event event = example();

    event.time = times[_i].seconds * 1000000000;
    ck_assert_ptr_nonnull(strstr(line_of(&event, EVENT_LOGFMT), times[_i].text));
}
END_TEST

START_TEST(the_way_back_is_no_warning)
{
    struct event event = example();

    for (int to = 0; to < PREBREAK_PHASES; to++) {
        event.change.to = (enum prebreak_phase)to;
        bool warns = strstr(line_of(&event, EVENT_LOGFMT), "level=warn") != NULL;
        ck_assert(warns == (to != PREBREAK_CLOSED && to != PREBREAK_RECOVERING));
    }
}
END_TEST

START_TEST(a_drop_ratio_is_none_or_all_only_if_it_is)
{
    static const struct {
        uint32_t drop;
        const char *text;
    } drops[] = {
        {0, "drop=0.00 "}, {1, "drop=0.01 "}, {32768, "drop=0.50 "}, {65534, "drop=0.99 "}, {65535, "drop=1.00 "},
    };
    struct event event = example();

    event.change.drop = drops[_i].drop;
    ck_assert_ptr_nonnull(strstr(line_of(&event, EVENT_LOGFMT), drops[_i].text));
}
END_TEST

START_TEST(hostile_text_stays_one_line_of_plain_ascii)
{
    struct event event = example();
    char all[256];
    json_error_t error;

    for (int c = 1; c < 256; c++) {
        all[c - 1] = (char)c;
    }
    for (int part = 0; part < 3; part++) {
        memcpy(event.text, all + part * 85, 85);
        event.text[85] = '\0';
        memcpy(event.comm, all + part * 15, 15);
        event.comm[15] = '\0';
        for (int format = EVENT_LOGFMT; format <= EVENT_JSON; format++) {
            const char *line = line_of(&event, (enum event_format)format);
            for (const char *at = line; at[1]; at++) {
                ck_assert((unsigned char)*at >= ' ' && (unsigned char)*at < 0x7f);
            }
        }
        json_t *json = json_loads(line_of(&event, EVENT_JSON), 0, &error);
        ck_assert_msg(json != NULL, "%s", error.text);
        if (part == 0) {
            ck_assert_str_eq(json_string_value(json_object_get(json, "text")), event.text);
        }
        json_decref(json);
    }
    strcpy(event.comm, "a \"b\" c=\\d\n");
    ck_assert_ptr_nonnull(strstr(line_of(&event, EVENT_LOGFMT), " comm=\"a \\\"b\\\" c=\\\\d\\u000a\" "));
    strcpy(event.comm, "a\"b");
    ck_assert_ptr_nonnull(strstr(line_of(&event, EVENT_LOGFMT), " comm=\"a\\\"b\" "));
    strcpy(event.comm, "");
    ck_assert_ptr_nonnull(strstr(line_of(&event, EVENT_LOGFMT), " comm=\"\""));
}
END_TEST

START_TEST(the_longest_event_fits_and_is_cut_where_its_text_is)
{
    json_error_t error;

    for (int what = 0; what < EVENT_WHATS; what++) {
        struct event event = example();
        event.what = (enum event_what)what;
        event.time = UINT64_MAX;
        event.change = (struct breaker_change){PREBREAK_HELD_CLOSED,
                                               PREBREAK_HELD_CLOSED,
                                               BREAKER_REASON_RETRY_AFTER,
                                               UINT32_MAX,
                                               UINT32_MAX,
                                               UINT32_MAX,
                                               UINT32_MAX};
        event.policy = PREBREAK_CONSECUTIVE;
        event.pid = UINT32_MAX;
        memset(event.name, _i ? '\1' : 'x', sizeof event.name - 1);
        memset(event.comm, '\1', sizeof event.comm - 1);
        memset(event.text, '\1', sizeof event.text - 1);
        line_of(&event, EVENT_LOGFMT);
        json_t *json = json_loads(line_of(&event, EVENT_JSON), 0, &error);
        ck_assert_msg(json != NULL, "%s: %s", event_what_name(event.what), error.text);
        json_decref(json);
    }
}
END_TEST

START_TEST(what_cannot_be_told_is_not_told)
{
    struct event event = example();
    char line[EVENT_LINE];

    ck_assert_uint_eq(event_format(&event, EVENT_LOGFMT, line, EVENT_LINE - 1), 0);
    event.what = EVENT_WHATS;
    ck_assert_uint_eq(event_format(&event, EVENT_LOGFMT, line, EVENT_LINE), 0);
    ck_assert_ptr_null(event_what_name(EVENT_WHATS));
    event = example();
    event.policy = PREBREAK_POLICIES;
    event.change.to = PREBREAK_PHASES;
    event.mode = PREBREAK_MODES;
    ck_assert_ptr_nonnull(strstr(line_of(&event, EVENT_LOGFMT), "to=unknown"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("event");
    TCase *ring = tcase_create("ring"), *line = tcase_create("line");

    tcase_add_checked_fixture(ring, begin, fixture_end);
    tcase_add_checked_fixture(line, begin, fixture_end);
    tcase_set_timeout(ring, 60);
    tcase_add_test(ring, an_event_comes_out_as_it_went_in);
    tcase_add_test(ring, an_event_begins_with_who_and_when);
    tcase_add_test(ring, the_ring_keeps_the_last_ones_in_order);
    tcase_add_loop_test(ring, what_is_only_half_written_is_not_shown, 0, 4);
    tcase_add_loop_test(ring, events_that_hold_what_none_can_are_not_shown, 0, 4);
    tcase_add_loop_test(ring, a_ring_of_garbage_shows_nothing_and_heals, 0, 2);
    tcase_add_test(ring, readers_see_only_whole_events_while_many_write);
    tcase_add_test(line, a_change_of_phase_reads_as_the_contract_says);
    tcase_add_loop_test(line, times_are_right_over_leap_years_and_centuries, 0, 8);
    tcase_add_test(line, the_way_back_is_no_warning);
    tcase_add_loop_test(line, a_drop_ratio_is_none_or_all_only_if_it_is, 0, 5);
    tcase_add_test(line, hostile_text_stays_one_line_of_plain_ascii);
    tcase_add_loop_test(line, the_longest_event_fits_and_is_cut_where_its_text_is, 0, 2);
    tcase_add_test(line, what_cannot_be_told_is_not_told);
    suite_add_tcase(suite, ring);
    suite_add_tcase(suite, line);
    return fixture_run(suite);
}
