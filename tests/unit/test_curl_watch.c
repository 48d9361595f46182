#include "suite.h"
#include "track/curl/finish.h"
#include "track/curl/watch.h"
#include "track/process.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- calls, as far as a transfer knows them: what was told of them, in order ----------------------------------------- */

static char told[256];
static bool refuses, pausing;
static struct provider *const somebody = &(struct provider){.settings.refuse_errno = 111, .name = "somebody"};

static void tell(struct call *call, const char *what, int number)
{
    if (call->provider != NULL) {
        size_t length = strlen(told);

        snprintf(told + length, sizeof told - length, number != 0 ? "%s %d," : "%s,", what, number);
    }
}

static void over(struct call *call, const char *what, int number)
{
    tell(call, what, number);
    call->provider = NULL;
}

bool call_admit(struct call *call, struct provider *provider)
{
    memset(call, 0, sizeof *call);
    call->provider = provider;
    if (refuses) {
        over(call, "refused", 0);
        return false;
    }
    tell(call, "admitted", 0);
    return true;
}

void call_heard(struct call *call)
{
    tell(call, "heard", 0);
}

void call_stream(struct call *call)
{
    tell(call, "stream", 0);
}

void call_event(struct call *call)
{
    tell(call, "event", 0);
}

bool call_stalled(const struct call *call)
{
    (void)call;
    return false;
}

void call_rest(struct call *call)
{
    tell(call, "rest", 0);
}

void call_wake(struct call *call)
{
    tell(call, "wake", 0);
}

void call_first_byte(struct call *call, uint64_t latency)
{
    tell(call, "first byte", (int)(latency / 1000));
}

void call_neutral(struct call *call)
{
    over(call, "neutral", 0);
}

void call_ok(struct call *call)
{
    over(call, "ok", 0);
}

void call_failed(struct call *call, enum prebreak_kind kind)
{
    over(call, "failed", (int)kind);
}

void call_status(struct call *call, unsigned status, const struct retry *retry)
{
    (void)retry;
    over(call, "status", (int)status);
}

void call_quota(struct call *call, unsigned status, const struct retry *retry)
{
    (void)retry;
    over(call, "quota", (int)status);
}

bool call_status_decides(const struct call *call, unsigned status)
{
    (void)call;
    return status >= 500 || status == 429;
}

void call_refusal_text(const struct provider *provider, char *buffer, unsigned long size)
{
    snprintf(buffer, size, "%s is open", provider->name);
}

struct provider *provider_of(const struct rules_target *target)
{
    return strcmp(target->host, "nobody.test") != 0 ? somebody : NULL;
}

bool provider_undecided(const struct rules_target *target)
{
    (void)target;
    return false;
}

uint64_t process_now(void)
{
    return UINT64_C(1000000000000);
}

uint32_t process_forks(void)
{
    return 0;
}

bool process_confined(void)
{
    return false;
}

void process_tick(void)
{
}

/* ---- a libcurl that only remembers ------------------------------------------------------------------------------------ */

static CURL *const easy = (CURL *)0x5555000;

static struct {
    /* options */
    long protocols;
    char protocols_text[64];
    char *error_buffer;
    curl_write_callback write;
    void *write_data;
    curl_prereq_callback prereq;
    void *prereq_data;
    /* what it knows of the transfer */
    long status, redirects;
    const char *url, *type;
    curl_off_t sent, answered;
} curl;

static CURLcode set_option(CURL *handle, CURLoption option, ...)
{
    va_list list;

    ck_assert_ptr_eq(handle, easy);
    va_start(list, option);
    switch (option) {
    case CURLOPT_PROTOCOLS:
        curl.protocols = va_arg(list, long);
        curl.protocols_text[0] = '\0';
        break;
    case CURLOPT_PROTOCOLS_STR:
        snprintf(curl.protocols_text, sizeof curl.protocols_text, "%s", va_arg(list, char *));
        break;
    case CURLOPT_ERRORBUFFER:
        curl.error_buffer = va_arg(list, char *);
        break;
    case CURLOPT_WRITEFUNCTION:
        curl.write = va_arg(list, curl_write_callback);
        break;
    case CURLOPT_WRITEDATA:
        curl.write_data = va_arg(list, void *);
        break;
    case CURLOPT_PREREQFUNCTION:
        curl.prereq = va_arg(list, curl_prereq_callback);
        break;
    case CURLOPT_PREREQDATA:
        curl.prereq_data = va_arg(list, void *);
        break;
    default:
        ck_abort_msg("option %d", (int)option);
    }
    va_end(list);
    return CURLE_OK;
}

static CURLcode get_info(CURL *handle, CURLINFO info, ...)
{
    va_list list;

    ck_assert_ptr_eq(handle, easy);
    va_start(list, info);
    void *value = va_arg(list, void *);

    va_end(list);
    switch (info) {
    case CURLINFO_RESPONSE_CODE:
        *(long *)value = curl.status;
        break;
    case CURLINFO_REDIRECT_COUNT:
        *(long *)value = curl.redirects;
        break;
    case CURLINFO_EFFECTIVE_URL:
        *(const char **)value = curl.url;
        break;
    case CURLINFO_CONTENT_TYPE:
        *(const char **)value = curl.type;
        break;
    case CURLINFO_PRETRANSFER_TIME_T:
        *(curl_off_t *)value = curl.sent;
        break;
    case CURLINFO_STARTTRANSFER_TIME_T:
        *(curl_off_t *)value = curl.answered;
        break;
    default:
        ck_abort_msg("info %d", (int)info);
    }
    return CURLE_OK;
}

static CURLHcode get_header(CURL *handle, const char *name, size_t index, unsigned origin, int request,
                            struct curl_header **header)
{
    (void)handle, (void)name, (void)index, (void)origin, (void)request, (void)header;
    return CURLHE_MISSING;
}

static const char *parsed;

static CURLU *make_url(void)
{
    return (CURLU *)&parsed;
}

static CURLUcode set_url(CURLU *url, CURLUPart part, const char *text, unsigned flags)
{
    (void)url, (void)part, (void)flags;
    parsed = text;
    return strncmp(text, "http://", 7) == 0 ? CURLUE_OK : CURLUE_MALFORMED_INPUT;
}

/* Its headers have come to say const. */
#if LIBCURL_VERSION_NUM >= 0x080000
#define READ_URL const CURLU
#else
#define READ_URL CURLU
#endif

/* http://HOST:PORT/ */
static CURLUcode get_url(READ_URL *url, CURLUPart part, char **text, unsigned flags)
{
    const char *host = parsed + 7, *port = strchr(host, ':') + 1;

    (void)url, (void)flags;
    *text = part == CURLUPART_SCHEME ? strdup("http")
            : part == CURLUPART_HOST ? strndup(host, (size_t)(port - 1 - host))
                                     : strndup(port, strcspn(port, "/"));
    return CURLUE_OK;
}

static void free_url(CURLU *url)
{
    (void)url;
}

static const struct curl_api api = {
    .easy_setopt = set_option,
    .easy_getinfo = get_info,
    .easy_header = get_header,
    .url = make_url,
    .url_set = set_url,
    .url_get = get_url,
    .url_cleanup = free_url,
    .free = free,
};

/* ---- a program -------------------------------------------------------------------------------------------------------- */

static struct curl_handle *handle;
static char buffer[CURL_ERROR_SIZE], got[256];
static size_t answer; /* what the program's write callback says; SIZE_MAX: that it took all */

static size_t write_own(char *bytes, size_t size, size_t count, void *data)
{
    ck_assert_ptr_eq(data, got);
    if (pausing) {
        return CURL_WRITEFUNC_PAUSE;
    }
    strncat(got, bytes, size * count);
    memset(bytes, '#', size * count);
    return answer != SIZE_MAX ? answer : size * count;
}

static int asked;

static int ask_own(void *data, char *ip, char *local_ip, int port, int local_port)
{
    ck_assert_ptr_eq(data, &asked);
    ck_assert_str_eq(ip, "10.0.0.1");
    ck_assert_str_eq(local_ip, "10.0.0.2");
    ck_assert_int_eq(port * 1000 + local_port, 80099);
    asked++;
    return CURL_PREREQFUNC_OK;
}

/* The program's options, as they would stand after it had set them. */
static void setup(void)
{
    handle = curl_handle_add(easy, &api);
    handle->options.write = curl.write = write_own;
    handle->options.write_data = curl.write_data = got;
    handle->options.write_data_set = true;
    handle->options.error_buffer = curl.error_buffer = buffer;
    handle->decided = somebody;
    (void)curl_target_of_text(&api, "http://a.test:80/", &handle->options.target);
    handle->pending = handle->options.target;
    handle->call.provider = somebody;
    curl.status = 200;
    curl.url = "http://a.test:80/";
    curl.type = "text/event-stream";
    answer = SIZE_MAX;
}

/* libcurl hands something over, and takes the callback's word. */
static size_t hand_over(const char *text)
{
    char bytes[256];

    strcpy(bytes, text);
    return curl.write(bytes, 1, strlen(text), curl.write_data);
}

static int before_request(void)
{
    char ip[] = "10.0.0.1", local_ip[] = "10.0.0.2";

    return curl.prereq(curl.prereq_data, ip, local_ip, 80, 99);
}

/* ---- refusals --------------------------------------------------------------------------------------------------------- */

START_TEST(refusal_leaves_nothing_but_files_and_puts_back_what_was_set)
{
    ck_assert(curl_gate_close(handle, easy));
    ck_assert_int_eq(curl.protocols, CURLPROTO_FILE);
    ck_assert_ptr_null(curl.error_buffer);
    ck_assert_str_eq(buffer, "somebody is open");
    ck_assert_int_eq(handle->refused, 111);

    curl_gate_reopen(handle, easy);
    ck_assert_uint_eq((unsigned long)curl.protocols, (unsigned long)CURLPROTO_ALL);
    ck_assert_ptr_eq(curl.error_buffer, buffer);

    handle->options.protocols = CURL_PROTOCOLS_MASK;
    handle->options.protocols_mask = CURLPROTO_HTTP;
    ck_assert(curl_gate_close(handle, easy));
    curl_gate_reopen(handle, easy);
    ck_assert_int_eq(curl.protocols, CURLPROTO_HTTP);

    handle->options.protocols = CURL_PROTOCOLS_TEXT;
    strcpy(handle->options.protocols_text, "https");
    ck_assert(curl_gate_close(handle, easy));
    ck_assert_str_eq(curl.protocols_text, "");
    curl_gate_reopen(handle, easy);
    ck_assert_str_eq(curl.protocols_text, "https");
}
END_TEST

START_TEST(what_the_program_sets_does_not_open_a_transfer_that_waits_to_be_failed)
{
    static char other[CURL_ERROR_SIZE];

    handle->member.part = CURL_PART_REFUSED;
    ck_assert(curl_gate_close(handle, easy));
    handle->options.protocols = CURL_PROTOCOLS_MASK; /* as it is when libcurl has taken the option */
    handle->options.protocols_mask = curl.protocols = CURLPROTO_HTTP;
    handle->options.error_buffer = curl.error_buffer = other;
    curl_gate_changed(handle, easy);
    ck_assert_int_eq(curl.protocols, CURLPROTO_FILE);
    ck_assert_ptr_null(curl.error_buffer);

    handle->member.part = CURL_PART_OVER;
    curl_gate_changed(handle, easy);
    ck_assert_int_eq(curl.protocols, CURLPROTO_HTTP);
    ck_assert_ptr_eq(curl.error_buffer, other);
}
END_TEST

START_TEST(only_a_forbidden_protocol_becomes_a_refused_connection)
{
    ck_assert_int_eq(curl_gate_result(handle, CURLE_UNSUPPORTED_PROTOCOL), CURLE_COULDNT_CONNECT);
    ck_assert_int_eq(handle->refused, 111);
    ck_assert_int_eq(curl_gate_result(handle, CURLE_URL_MALFORMAT), CURLE_URL_MALFORMAT);
    ck_assert_int_eq(handle->refused, 0);
}
END_TEST

/* ---- bodies ----------------------------------------------------------------------------------------------------------- */

START_TEST(what_comes_reaches_the_programs_callback_with_its_data_and_its_word_is_libcurls)
{
    curl.type = "text/html";
    curl_watch_begin(handle, easy);
    ck_assert_ptr_ne(curl.write_data, got);
    ck_assert_uint_eq(hand_over("one"), 3);
    answer = 1;
    ck_assert_uint_eq(hand_over("two"), 1);
    answer = 0;
    ck_assert_uint_eq(hand_over("three"), 0);
    answer = SIZE_MAX;
    pausing = true;
    ck_assert_uint_eq(hand_over("four"), CURL_WRITEFUNC_PAUSE);
    pausing = false;
    ck_assert_str_eq(got, "onetwothree");
    curl_watch_end(handle, easy);
    ck_assert_ptr_eq(curl.write, write_own);
    ck_assert_ptr_eq(curl.write_data, got);
}
END_TEST

START_TEST(event_stream_is_read_before_the_program_writes_into_it_and_once)
{
    curl.sent = 100;
    curl.answered = 350;
    curl_watch_begin(handle, easy);
    ck_assert_uint_eq(hand_over("data: 1\n\n"), 9);
    pausing = true;
    ck_assert_uint_eq(hand_over("data: {\"error\":{\"message\":\"x\"}}\n\n"), CURL_WRITEFUNC_PAUSE);
    ck_assert_str_eq(told, "first byte 250,stream,event,rest,");
    pausing = false;
    told[0] = '\0';
    hand_over("data: {\"error\":{\"message\":\"x\"}}\n\n"); /* libcurl comes again with it */
    ck_assert_str_eq(told, "wake,stream,failed 8,");
    ck_assert_int_eq(PREBREAK_KIND_STREAM, 8);
}
END_TEST

START_TEST(body_is_left_alone_where_header_lines_come_to_the_same_callback_or_there_is_none)
{
    handle->options.header_in_body = true;
    curl_watch_begin(handle, easy);
    ck_assert_ptr_eq(curl.write, write_own);

    handle->options.header_in_body = false;
    handle->options.header_data = &buffer;
    curl_watch_begin(handle, easy);
    ck_assert_ptr_eq(curl.write_data, got);

    handle->options.header_write = true;
    curl_watch_begin(handle, easy);
    ck_assert_ptr_ne(curl.write_data, got);

    handle->options.header_write = false; /* set so in the midst of the transfer */
    curl_watch_changed(handle, easy);
    ck_assert_ptr_eq(curl.write, write_own);
    ck_assert_ptr_eq(curl.write_data, got);

    handle->options.header_data = NULL;
    handle->options.write = curl.write = NULL;
    curl_watch_begin(handle, easy);
    ck_assert_ptr_null(curl.write);
    ck_assert_ptr_eq(curl.write_data, got);
}
END_TEST

START_TEST(callback_that_was_given_no_data_finds_what_libcurl_would_give_it)
{
    handle->options.write_data_set = false;
    curl_watch_begin(handle, easy);
    curl_watch_end(handle, easy);
    ck_assert_ptr_eq(curl.write_data, stdout);
}
END_TEST

START_TEST(quota_that_ran_out_is_told_with_the_status)
{
    curl.status = 429;
    curl.type = "application/json";
    curl_watch_begin(handle, easy);
    hand_over("{\"error\":{\"type\":\"insufficient_quota\"}}");
    curl_finish(handle, easy, CURLE_OK, 0);
    ck_assert_str_eq(told, "quota 429,");
}
END_TEST

/* ---- hops ------------------------------------------------------------------------------------------------------------- */

static void redirect(const char *url)
{
    curl.status = 302;
    curl.redirects++;
    curl.url = url;
}

static void follow(void)
{
    handle->options.follow = true;
    handle->options.prereq = curl.prereq = ask_own;
    handle->options.prereq_data = curl.prereq_data = &asked;
    curl_watch_begin(handle, easy);
}

START_TEST(hop_to_the_same_host_goes_on_with_the_same_call)
{
    follow();
    ck_assert_int_eq(before_request(), CURL_PREREQFUNC_OK);
    redirect("http://A.test:80/more");
    ck_assert_int_eq(before_request(), CURL_PREREQFUNC_OK);
    ck_assert_str_eq(told, "");
    ck_assert_int_eq(asked, 2);
}
END_TEST

START_TEST(hop_to_another_host_or_port_is_another_call)
{
    follow();
    redirect("http://b.test:80/");
    ck_assert_int_eq(before_request(), CURL_PREREQFUNC_OK);
    redirect("http://b.test:81/");
    ck_assert_int_eq(before_request(), CURL_PREREQFUNC_OK);
    ck_assert_int_eq(before_request(), CURL_PREREQFUNC_OK); /* of the same hop: libcurl tries again */
    ck_assert_str_eq(told, "status 302,admitted,status 302,admitted,");
    redirect("http://nobody.test:80/");
    ck_assert_int_eq(before_request(), CURL_PREREQFUNC_OK);
    ck_assert_ptr_null(handle->call.provider);
    ck_assert_int_eq(asked, 4);
}
END_TEST

START_TEST(refused_hop_is_aborted_and_looks_like_a_refused_connection)
{
    follow();
    redirect("http://b.test:80/");
    refuses = true;
    ck_assert_int_eq(before_request(), CURL_PREREQFUNC_ABORT);
    ck_assert_int_eq(before_request(), CURL_PREREQFUNC_ABORT);
    ck_assert_int_eq(asked, 0);
    ck_assert_str_eq(told, "status 302,refused,");
    curl_watch_end(handle, easy);
    ck_assert_ptr_eq(curl.prereq, ask_own);
    ck_assert_ptr_eq(curl.prereq_data, &asked);
    ck_assert_int_eq(curl_hops_result(handle, CURLE_ABORTED_BY_CALLBACK), CURLE_COULDNT_CONNECT);
    ck_assert_str_eq(buffer, "somebody is open");
    ck_assert_int_eq(curl_hops_result(handle, CURLE_OK), CURLE_OK);
}
END_TEST

START_TEST(programs_own_abort_stays_what_it_is)
{
    follow();
    ck_assert_int_eq(curl_hops_result(handle, CURLE_ABORTED_BY_CALLBACK), CURLE_ABORTED_BY_CALLBACK);
    ck_assert_int_eq(curl_hops_result(handle, CURLE_COULDNT_CONNECT), CURLE_COULDNT_CONNECT);
    ck_assert_str_eq(buffer, "");
}
END_TEST

START_TEST(transfer_that_follows_nothing_has_no_callback_of_ours)
{
    curl_watch_begin(handle, easy);
    ck_assert_ptr_null(curl.prereq);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        refusal_leaves_nothing_but_files_and_puts_back_what_was_set,
        what_the_program_sets_does_not_open_a_transfer_that_waits_to_be_failed,
        only_a_forbidden_protocol_becomes_a_refused_connection,
        what_comes_reaches_the_programs_callback_with_its_data_and_its_word_is_libcurls,
        event_stream_is_read_before_the_program_writes_into_it_and_once,
        body_is_left_alone_where_header_lines_come_to_the_same_callback_or_there_is_none,
        callback_that_was_given_no_data_finds_what_libcurl_would_give_it,
        quota_that_ran_out_is_told_with_the_status,
        hop_to_the_same_host_goes_on_with_the_same_call,
        hop_to_another_host_or_port_is_another_call,
        refused_hop_is_aborted_and_looks_like_a_refused_connection,
        programs_own_abort_stays_what_it_is,
        transfer_that_follows_nothing_has_no_callback_of_ours,
    };
    Suite *suite = suite_create("curl watch");
    TCase *tcase = tcase_create("curl watch");

    tcase_add_checked_fixture(tcase, setup, NULL);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
