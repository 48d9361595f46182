#include "suite.h"
#include "track/curl/outcome.h"

#include <check.h>
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>
#include <errno.h>

static struct curl_outcome of(int code)
{
    return curl_outcome(&(struct curl_facts){.code = code});
}

static void must_fail(struct curl_outcome outcome, enum prebreak_kind kind)
{
    ck_assert_int_eq(outcome.outcome, PREBREAK_FAILED);
    ck_assert_int_eq(outcome.kind, kind);
    ck_assert(!outcome.by_status && outcome.unless_status);
}

static void must_be_neutral(struct curl_outcome outcome)
{
    ck_assert_int_eq(outcome.outcome, PREBREAK_NEUTRAL);
    ck_assert(!outcome.by_status && outcome.unless_status);
}

START_TEST(transfer_that_worked_goes_by_its_status)
{
    struct curl_outcome outcome = curl_outcome(&(struct curl_facts){.code = CURLE_OK, .status = 503});

    ck_assert(outcome.by_status);
    outcome = curl_outcome(&(struct curl_facts){.code = CURLE_HTTP_RETURNED_ERROR, .status = 503});
    ck_assert(outcome.by_status);
}
END_TEST

START_TEST(transfer_that_worked_without_a_status_is_ok)
{
    struct curl_outcome outcome = of(CURLE_OK);

    ck_assert_int_eq(outcome.outcome, PREBREAK_OK);
    ck_assert(!outcome.by_status);
}
END_TEST

START_TEST(no_is_an_answer)
{
    static const int codes[] = {CURLE_REMOTE_ACCESS_DENIED,  CURLE_FTP_COULDNT_RETR_FILE, CURLE_LOGIN_DENIED,
                                CURLE_REMOTE_FILE_NOT_FOUND, CURLE_TOO_MANY_REDIRECTS,    CURLE_TFTP_NOTFOUND};

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        ck_assert_int_eq(of(codes[i]).outcome, PREBREAK_OK);
    }
}
END_TEST

START_TEST(broken_transfers_fail_by_their_kind)
{
    static const struct {
        int code;
        enum prebreak_kind kind;
    } rows[] = {
        {CURLE_PARTIAL_FILE, PREBREAK_KIND_RESET},
        {CURLE_GOT_NOTHING, PREBREAK_KIND_RESET},
        {CURLE_SEND_ERROR, PREBREAK_KIND_RESET},
        {CURLE_RECV_ERROR, PREBREAK_KIND_RESET},
        {CURLE_HTTP2, PREBREAK_KIND_RESET},
        {CURLE_HTTP2_STREAM, PREBREAK_KIND_RESET},
        {CURLE_SSL_CONNECT_ERROR, PREBREAK_KIND_TLS},
        {CURLE_PEER_FAILED_VERIFICATION, PREBREAK_KIND_TLS},
        {CURLE_SSL_INVALIDCERTSTATUS, PREBREAK_KIND_TLS},
        {CURLE_QUIC_CONNECT_ERROR, PREBREAK_KIND_CONNECT},
        {CURLE_FTP_ACCEPT_TIMEOUT, PREBREAK_KIND_TIMEOUT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        must_fail(of(rows[i].code), rows[i].kind);
    }
}
END_TEST

START_TEST(troubles_of_the_callers_own_are_neutral)
{
    static const int codes[] = {
        CURLE_UNSUPPORTED_PROTOCOL, CURLE_FAILED_INIT,     CURLE_URL_MALFORMAT,        CURLE_COULDNT_RESOLVE_PROXY,
        CURLE_WRITE_ERROR,          CURLE_READ_ERROR,      CURLE_OUT_OF_MEMORY,        CURLE_ABORTED_BY_CALLBACK,
        CURLE_INTERFACE_FAILED,     CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,           CURLE_SSL_CACERT_BADFILE,
        CURLE_FILESIZE_EXCEEDED,    CURLE_PROXY,           CURLE_BAD_FUNCTION_ARGUMENT};

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        must_be_neutral(of(codes[i]));
    }
}
END_TEST

START_TEST(unknown_codes_never_condemn)
{
    must_be_neutral(of(-1));
    must_be_neutral(of(CURL_LAST));
    must_be_neutral(of(1000000));
}
END_TEST

START_TEST(failed_connect_is_the_providers_only_if_the_network_said_so)
{
    static const int theirs[] = {ECONNREFUSED, ETIMEDOUT, EHOSTUNREACH, ECONNRESET, ECONNABORTED};
    static const int ours[] = {0,     ENETUNREACH, EADDRNOTAVAIL, EAFNOSUPPORT, EACCES,
                               EPERM, EMFILE,      ENOBUFS,       EINTR,        EINVAL};

    for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++) {
        must_fail(curl_outcome(&(struct curl_facts){.code = CURLE_COULDNT_CONNECT, .error = theirs[i]}),
                  PREBREAK_KIND_CONNECT);
    }
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        must_be_neutral(curl_outcome(&(struct curl_facts){.code = CURLE_COULDNT_CONNECT, .error = ours[i]}));
    }
}
END_TEST

START_TEST(time_out_is_told_apart_by_how_far_it_came)
{
    struct curl_facts facts = {.code = CURLE_OPERATION_TIMEDOUT};

    must_be_neutral(curl_outcome(&facts));
    facts.resolved = true;
    must_fail(curl_outcome(&facts), PREBREAK_KIND_CONNECT);
    facts.connected = true;
    must_fail(curl_outcome(&facts), PREBREAK_KIND_TIMEOUT);
    facts.resolved = false;
    must_fail(curl_outcome(&facts), PREBREAK_KIND_TIMEOUT);
}
END_TEST

START_TEST(name_that_does_not_resolve_fails_only_if_the_resolver_blames_the_provider)
{
    struct curl_facts facts = {.code = CURLE_COULDNT_RESOLVE_HOST};

    must_be_neutral(curl_outcome(&facts));
    facts.dns_failed = true;
    must_fail(curl_outcome(&facts), PREBREAK_KIND_DNS);
}
END_TEST

START_TEST(proxy_that_cannot_reach_the_provider_is_believed)
{
    struct curl_facts facts = {.code = CURLE_RECV_ERROR, .tunnel = 502};

    must_fail(curl_outcome(&facts), PREBREAK_KIND_CONNECT);
    facts.tunnel = 407;
    must_be_neutral(curl_outcome(&facts));
    facts.tunnel = 200;
    must_fail(curl_outcome(&facts), PREBREAK_KIND_RESET);
}
END_TEST

START_TEST(what_another_host_did_after_a_redirect_is_not_ours)
{
    struct curl_outcome outcome = curl_outcome(
        &(struct curl_facts){.code = CURLE_COULDNT_CONNECT, .error = ECONNREFUSED, .status = 302, .elsewhere = true});

    ck_assert_int_eq(outcome.outcome, PREBREAK_OK);
    ck_assert(!outcome.by_status && !outcome.unless_status);
    outcome = curl_outcome(&(struct curl_facts){.code = CURLE_OK, .status = 503, .elsewhere = true});
    ck_assert_int_eq(outcome.outcome, PREBREAK_OK);
    ck_assert(!outcome.by_status && !outcome.unless_status);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        transfer_that_worked_goes_by_its_status,
        transfer_that_worked_without_a_status_is_ok,
        no_is_an_answer,
        broken_transfers_fail_by_their_kind,
        troubles_of_the_callers_own_are_neutral,
        unknown_codes_never_condemn,
        failed_connect_is_the_providers_only_if_the_network_said_so,
        time_out_is_told_apart_by_how_far_it_came,
        name_that_does_not_resolve_fails_only_if_the_resolver_blames_the_provider,
        proxy_that_cannot_reach_the_provider_is_believed,
        what_another_host_did_after_a_redirect_is_not_ours,
    };
    Suite *suite = suite_create("curl outcome");
    TCase *tcase = tcase_create("curl outcome");

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
