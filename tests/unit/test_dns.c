#include "suite.h"
#include "track/names/dns.h"
#include "track/process.h"

#include <check.h>
#include <netdb.h>
#include <string.h>

#include "track/call.h"
#include "track/curl/curl.h"
#include "track/names/names.h"

/* ---- the process, its providers and its transfers, as far as dns knows them ------------------------------------------ */

#define START (100 * SECOND_NS)

bool process_acts = true;
static uint64_t clock_now = START;
static struct provider acme;
static struct rules_target asked;
static unsigned failed;
static bool admits = true, transfer_under_way, told, told_failed;

uint64_t process_now(void)
{
    return clock_now;
}

struct provider *provider_of(const struct rules_target *target)
{
    asked = *target;
    return strcmp(target->host, "acme.test") == 0 ? &acme : NULL;
}

bool call_admit(struct call *call, struct provider *provider)
{
    call->provider = provider;
    return admits;
}

void call_failed(struct call *call, enum prebreak_kind kind)
{
    ck_assert_ptr_eq(call->provider, &acme);
    ck_assert_int_eq(kind, PREBREAK_KIND_DNS);
    failed++;
}

bool curl_told_dns(const char *host, bool blames)
{
    told = strcmp(host, "acme.test") == 0;
    told_failed = blames;
    return transfer_under_way;
}

bool address_in_figures(const char *host)
{
    return strcmp(host, "10.0.0.1") == 0;
}

/* ---- what must be so ------------------------------------------------------------------------------------------------ */

START_TEST(resolver_that_says_that_it_fails_blames_the_provider)
{
    dns_failed("ACME.test.", "8080", 0, EAI_FAIL);
    ck_assert_uint_eq(failed, 1);
    ck_assert_uint_eq(asked.port, 8080);
}
END_TEST

START_TEST(name_that_does_not_exist_blames_nobody)
{
    dns_resolved("other.test");
    dns_failed("acme.test", NULL, 0, EAI_NONAME);
    dns_failed("acme.test", NULL, 0, EAI_SYSTEM);
    dns_failed("acme.test", NULL, 0, EAI_MEMORY);
    ck_assert_uint_eq(failed, 0);
}
END_TEST

START_TEST(silent_resolver_blames_only_if_another_name_was_resolved_lately)
{
    dns_failed("acme.test", NULL, 0, EAI_AGAIN);
    ck_assert_uint_eq(failed, 0);

    dns_resolved("other.test");
    clock_now += 10 * SECOND_NS;
    dns_failed("acme.test", NULL, 0, EAI_AGAIN);
    ck_assert_uint_eq(failed, 1);

    clock_now += SECOND_NS;
    dns_failed("acme.test", NULL, 0, EAI_AGAIN);
    ck_assert_uint_eq(failed, 1);
}
END_TEST

START_TEST(name_is_not_its_own_witness)
{
    dns_resolved("acme.test");
    dns_failed("acme.test", NULL, 0, EAI_AGAIN);
    ck_assert_uint_eq(failed, 0);

    /* nor does it push the other one out */
    dns_resolved("other.test");
    dns_resolved("acme.test");
    dns_resolved("acme.test");
    dns_failed("acme.test", NULL, 0, EAI_AGAIN);
    ck_assert_uint_eq(failed, 1);
}
END_TEST

START_TEST(names_out_of_a_file_and_figures_prove_nothing)
{
    dns_resolved("localhost");
    dns_resolved("10.0.0.1");
    dns_resolved(NULL);
    dns_resolved("no name!");
    dns_failed("acme.test", NULL, 0, EAI_AGAIN);
    ck_assert_uint_eq(failed, 0);
}
END_TEST

START_TEST(transfer_under_way_tells_it_itself)
{
    transfer_under_way = true;
    dns_failed("acme.test", NULL, 0, EAI_FAIL);
    ck_assert(told && told_failed);
    ck_assert_uint_eq(failed, 0);

    dns_failed("acme.test", NULL, 0, EAI_NONAME);
    ck_assert(told && !told_failed);
}
END_TEST

START_TEST(refused_call_does_not_fail_as_well)
{
    admits = false;
    dns_failed("acme.test", NULL, 0, EAI_FAIL);
    ck_assert_uint_eq(failed, 0);
}
END_TEST

START_TEST(what_is_nobodys_or_no_name_is_passed_over)
{
    dns_failed("other.test", NULL, 0, EAI_FAIL);
    dns_failed(NULL, "80", 0, EAI_FAIL);
    dns_failed("no name!", "80", 0, EAI_FAIL);
    dns_failed("10.0.0.1", "80", 0, EAI_FAIL);
    dns_failed("acme.test", "80", AI_NUMERICHOST, EAI_FAIL);
    process_acts = false;
    dns_failed("acme.test", "80", 0, EAI_FAIL);
    ck_assert_uint_eq(failed, 0);
}
END_TEST

START_TEST(service_tells_the_port)
{
    static const struct {
        const char *service;
        uint16_t port;
    } rows[] = {{NULL, 0}, {"http", 80}, {"https", 443}, {"443", 443}, {"65536", 0}, {"80x", 0}, {"smtp", 0}, {"", 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dns_failed("acme.test", rows[i].service, 0, EAI_FAIL);
        ck_assert_uint_eq(asked.port, rows[i].port);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        resolver_that_says_that_it_fails_blames_the_provider,
        name_that_does_not_exist_blames_nobody,
        silent_resolver_blames_only_if_another_name_was_resolved_lately,
        name_is_not_its_own_witness,
        names_out_of_a_file_and_figures_prove_nothing,
        transfer_under_way_tells_it_itself,
        refused_call_does_not_fail_as_well,
        what_is_nobodys_or_no_name_is_passed_over,
        service_tells_the_port,
    };
    Suite *suite = suite_create("dns");
    TCase *tcase = tcase_create("dns");

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
