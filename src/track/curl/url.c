#include "track/curl/url.h"

#include "rules/rules.h"

#include <stdlib.h>
#include <string.h>

/* libcurl itself guesses the scheme of "api.example.com/v1", and leaves the path alone. */
#define AS_LIBCURL (CURLU_GUESS_SCHEME | CURLU_PATH_AS_IS)

uint64_t curl_host_hash(const char *host)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *host != '\0'; host++) {
        hash = (hash ^ (unsigned char)*host) * UINT64_C(0x100000001b3);
    }
    return hash | 1;
}

static bool copy_host(const char *host, struct curl_target *target)
{
    size_t length = strlen(host);

    if (host[0] == '[' && length < sizeof target->host) { /* an address: rules know the form */
        for (size_t i = 0; i <= length; i++) {
            target->host[i] = host[i] >= 'A' && host[i] <= 'F' ? (char)(host[i] | 0x20) : host[i];
        }
        return true;
    }
    return rules_fold_host(host, length, target->host, sizeof target->host);
}

static uint16_t read_port(const char *text)
{
    unsigned long port = 0;

    for (; *text >= '0' && *text <= '9' && port <= UINT16_MAX; text++) {
        port = port * 10 + (unsigned long)(*text - '0');
    }
    return *text == '\0' && port <= UINT16_MAX ? (uint16_t)port : 0;
}

static bool speaks_http(const char *scheme)
{
    static const char *const schemes[] = {"http", "https", "ws", "wss"};

    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (strcmp(scheme, schemes[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool curl_target_of_parts(const struct curl_api *api, CURLU *parts, struct curl_target *target)
{
    char *host = NULL, *port = NULL, *scheme = NULL;
    bool good = false;

    memset(target, 0, sizeof *target);
    if (parts == NULL) {
        return false;
    }
    if (api->url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK && host != NULL) {
        good = copy_host(host, target);
        api->free(host);
    }
    if (api->url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK && scheme != NULL) {
        target->http = speaks_http(scheme);
        api->free(scheme);
    } else {
        target->http = true; /* what libcurl takes when there is none */
        target->port = 80;
    }
    if (api->url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK && port != NULL) {
        target->port = read_port(port);
        api->free(port);
    }
    if (!good || target->host[0] == '\0') {
        memset(target, 0, sizeof *target);
        return false;
    }
    target->hash = curl_host_hash(target->host);
    return true;
}

bool curl_target_of_text(const struct curl_api *api, const char *url, struct curl_target *target)
{
    CURLU *parts = url != NULL ? api->url() : NULL;
    bool good = false;

    memset(target, 0, sizeof *target);
    if (parts == NULL) {
        return false;
    }
    if (api->url_set(parts, CURLUPART_URL, url, AS_LIBCURL) == CURLUE_OK) {
        good = curl_target_of_parts(api, parts, target);
    }
    api->url_cleanup(parts);
    return good;
}
