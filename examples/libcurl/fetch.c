/*
 * A job that asks its provider for one thing after the other, as thousands of programs do: plain libcurl, no time-out, no
 * plan for a provider that goes bad. link with: -lcurl
 *
 *   fetch URL [TIMES]
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

static size_t ignore(char *data, size_t size, size_t count, void *context)
{
    (void)data;
    (void)context;
    return size * count;
}

/* Fetches once and says how it went. Returns whether there was a good answer. */
static int fetch(CURL *curl, int number)
{
    char reason[CURL_ERROR_SIZE] = "";
    long status = 0;
    double seconds = 0;

    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    CURLcode result = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_TOTAL_TIME, &seconds);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
    if (result != CURLE_OK) {
        printf("%3d  failed (%d) after %.3f s: %s\n", number, result, seconds,
               reason[0] != '\0' ? reason : curl_easy_strerror(result));
        return 0;
    }
    printf("%3d  status %ld after %.3f s\n", number, status, seconds);
    return status < 400;
}

int main(int argc, char **argv)
{
    int good = 0;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s URL [TIMES]\n", argv[0]);
        return 2;
    }
    int times = argc > 2 ? atoi(argv[2]) : 1;

    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *curl = curl_easy_init();
    if (curl == NULL) {
        return 1;
    }
    curl_easy_setopt(curl, CURLOPT_URL, argv[1]);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
    for (int i = 1; i <= times; i++) {
        good += fetch(curl, i);
    }
    printf("%d of %d answered\n", good, times);
    curl_easy_cleanup(curl);
    curl_global_cleanup();
    return good == times ? 0 : 1;
}
