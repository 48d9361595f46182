#include "track/curl/finish.h"

#include "track/curl/body.h"
#include "track/curl/gate.h"
#include "track/curl/outcome.h"
#include "track/process.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* ---- what libcurl knows ------------------------------------------------------------------------------------------ */

long curl_ask_number(const struct curl_handle *handle, CURL *easy, CURLINFO info)
{
    long value = 0;

    return handle->api->easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

uint64_t curl_ask_offset(const struct curl_handle *handle, CURL *easy, CURLINFO info)
{
    curl_off_t value = 0;

    return handle->api->easy_getinfo(easy, info, &value) == CURLE_OK && value > 0 ? (uint64_t)value : 0;
}

const char *curl_ask_text(const struct curl_handle *handle, CURL *easy, CURLINFO info)
{
    char *value = NULL;

    return handle->api->easy_getinfo(easy, info, &value) == CURLE_OK && value != NULL ? value : "";
}

static bool went_elsewhere(const struct curl_handle *handle, CURL *easy)
{
    struct curl_target last;

    return !curl_target_of_text(handle->api, curl_ask_text(handle, easy, CURLINFO_EFFECTIVE_URL), &last) ||
           !curl_gate_is_same(handle, &last);
}

static struct curl_facts gather(struct curl_handle *handle, CURL *easy, CURLcode code, int error)
{
    struct curl_facts facts = {.code = (int)code, .error = error};

    if (handle->pending.http) {
        long status = curl_ask_number(handle, easy, CURLINFO_RESPONSE_CODE);

        facts.status = status >= 200 && status <= 999 ? (unsigned)status : 0;
        facts.redirected = handle->options.follow && curl_ask_number(handle, easy, CURLINFO_REDIRECT_COUNT) > 0;
        facts.elsewhere = facts.redirected && went_elsewhere(handle, easy);
    }
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        facts.dns_failed = __atomic_load_n(&handle->dns, __ATOMIC_RELAXED) == CURL_DNS_FAILED;
        break;
    case CURLE_OPERATION_TIMEDOUT:
        facts.connected = curl_ask_text(handle, easy, CURLINFO_PRIMARY_IP)[0] != '\0';
        facts.resolved = curl_ask_offset(handle, easy, CURLINFO_NAMELOOKUP_TIME_T) > 0;
        break;
    case CURLE_RECV_ERROR:
        facts.tunnel = (unsigned)curl_ask_number(handle, easy, CURLINFO_HTTP_CONNECTCODE);
        break;
    default:
        break;
    }
    return facts;
}

/* When the provider asks to be called again, by the headers of the transfer's last answer. */
static void gather_retry(const struct curl_handle *handle, CURL *easy, unsigned status, struct retry *retry)
{
    struct curl_header *header;
    const char *name;

    retry_begin(retry);
    if (!retry_status(status)) {
        return;
    }
    if (handle->api->easy_header == NULL) { /* before 7.84 */
        retry_take_seconds(retry, curl_ask_offset(handle, easy, CURLINFO_RETRY_AFTER));
        return;
    }
    for (unsigned field = 1; (name = retry_field_name(field)) != NULL; field++) {
        if (handle->api->easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK) {
            for (size_t times = 0; times < header->amount && times < 2; times++) {
                retry_take(retry, field, header->value, strlen(header->value));
            }
        }
    }
}

/* From the end of the request to the first byte of its answer; libcurl adds up what the hops took. */
void curl_tell_first_byte(struct curl_handle *handle, CURL *easy)
{
    uint64_t sent = curl_ask_offset(handle, easy, CURLINFO_PRETRANSFER_TIME_T);
    uint64_t answered = curl_ask_offset(handle, easy, CURLINFO_STARTTRANSFER_TIME_T);

    if (answered > sent && answered - sent > handle->hops.waited) {
        call_first_byte(&handle->call, (answered - sent - handle->hops.waited) * 1000);
        handle->hops.waited = answered - sent;
    }
}

/* ---- how it ended ------------------------------------------------------------------------------------------------ */

static void end(struct curl_handle *handle, CURL *easy, const struct curl_facts *facts, struct curl_outcome outcome)
{
    if (!facts->redirected || handle->hops.watched) { /* of several nobody knows */
        curl_tell_first_byte(handle, easy);
    }
    if (outcome.by_status ||
        (outcome.unless_status && facts->status != 0 && call_status_decides(&handle->call, facts->status))) {
        struct retry retry;

        gather_retry(handle, easy, facts->status, &retry);
        if (facts->status == 429 && handle->body.quota) {
            call_quota(&handle->call, facts->status, &retry);
        } else {
            call_status(&handle->call, facts->status, &retry);
        }
    } else if (outcome.outcome == PREBREAK_OK) {
        call_ok(&handle->call);
    } else if (outcome.outcome == PREBREAK_FAILED) {
        call_failed(&handle->call, outcome.kind);
    } else {
        call_neutral(&handle->call);
    }
}

/* An event stream broke off, or the client's time for it ran out: then it may have been in full flow. */
static void end_stream(struct curl_handle *handle, CURL *easy, const struct curl_facts *facts)
{
    bool flows = facts->code == CURLE_OPERATION_TIMEDOUT && handle->call.event != 0 &&
                 process_now() - handle->call.event < SECOND_NS;

    curl_tell_first_byte(handle, easy);
    if (flows) {
        call_status(&handle->call, facts->status, NULL);
    } else {
        call_failed(&handle->call, PREBREAK_KIND_STREAM);
    }
}

void curl_finish_hop(struct curl_handle *handle, CURL *easy)
{
    long status = handle->pending.http ? curl_ask_number(handle, easy, CURLINFO_RESPONSE_CODE) : 0;
    struct curl_facts facts = {.code = CURLE_OK, .redirected = true};

    facts.status = status >= 200 && status <= 999 ? (unsigned)status : 0;
    end(handle, easy, &facts, curl_outcome(&facts));
}

/*
 * The transfer ended on its way to another host, before it was asked whether it might go there: a call that failed, or, if
 * it would not have been admitted, one that was refused. What did not come to a connection says nothing (28: to whom?).
 */
static void end_unasked(struct curl_handle *handle, CURL *easy, struct curl_facts facts)
{
    struct curl_target next;

    facts.elsewhere = false;
    facts.status = 0;
    struct curl_outcome outcome = curl_outcome(&facts);

    if (outcome.outcome != PREBREAK_FAILED || facts.code == CURLE_OPERATION_TIMEDOUT ||
        !curl_target_of_text(handle->api, curl_ask_text(handle, easy, CURLINFO_EFFECTIVE_URL), &next)) {
        return;
    }
    struct provider *provider = provider_of(&(struct rules_target){.host = next.host, .port = next.port});

    if (provider != NULL && call_admit(&handle->call, provider)) {
        call_failed(&handle->call, outcome.kind);
    } else if (provider != NULL) {
        handle->decided = provider;
        handle->hops.refused = true;
    }
}

void curl_finish(struct curl_handle *handle, CURL *easy, CURLcode code, int error)
{
    if (handle->call.provider == NULL) {
        return;
    }
    struct curl_facts facts = gather(handle, easy, code, error);
    struct curl_outcome outcome = curl_outcome(&facts);

    if (code == CURLE_OK && !curl_body_end(handle)) {
        return;
    }
    if (outcome.outcome == PREBREAK_FAILED && !facts.elsewhere && curl_body_streams(handle, easy)) {
        end_stream(handle, easy, &facts);
        return;
    }
    end(handle, easy, &facts, outcome);
    if (facts.elsewhere && handle->hops.watched &&
        code != CURLE_COULDNT_RESOLVE_HOST) { /* that is told by the resolver */
        end_unasked(handle, easy, facts);
    }
}

/* Streams pause while a model thinks, and a user may press a button: unless it was silent for too long, nobody can tell. */
static void give_up_stream(struct curl_handle *handle, CURL *easy, uint64_t idle)
{
    curl_tell_first_byte(handle, easy);
    if (call_stalled(&handle->call)) {
        call_failed(&handle->call, PREBREAK_KIND_STREAM);
    } else if ((handle->call.event != 0 ? process_now() - handle->call.event : idle) < SECOND_NS) {
        call_status(&handle->call, (unsigned)curl_ask_number(handle, easy, CURLINFO_RESPONSE_CODE), NULL);
    } else {
        call_neutral(&handle->call);
    }
}

void curl_finish_given_up(struct curl_handle *handle, CURL *easy, bool began, uint64_t idle)
{
    if (!began) {
        call_neutral(&handle->call); /* what can be asked is an earlier transfer's */
    }
    if (handle->call.provider != NULL && curl_body_streams(handle, easy)) {
        give_up_stream(handle, easy, idle);
    }
    if (handle->call.provider != NULL) {
        /* Within a second without any trouble: clients that hedge do it all day. */
        CURLcode code = idle < SECOND_NS ? CURLE_ABORTED_BY_CALLBACK : CURLE_OPERATION_TIMEDOUT;
        struct curl_facts facts = gather(handle, easy, code, 0);

        end(handle, easy, &facts, curl_outcome(&facts));
    }
}
