/*
 * A plain libcurl program on one kept-alive connection: prints transfers a second. It knows nothing of prebreak.
 *
 *   transfers URL COUNT [refused]   with `refused` each transfer must fail with CURLE_COULDNT_CONNECT
 *
 * link with: -lcurl
 */
#include "bench.h"

#include <curl/curl.h>
#include <stdio.h>

static size_t swallow(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes, (void)context;
    return size * count;
}

int main(int argc, char **argv)
{
    long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (count < 1) {
        fprintf(stderr, "usage: transfers URL COUNT [refused]\n");
        return 64;
    }
    CURLcode expected = argc > 3 ? CURLE_COULDNT_CONNECT : CURLE_OK;
    CURL *curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, argv[1]);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, swallow);
    uint64_t begun = bench_now();
    for (long i = 0; i < count; i++) {
        CURLcode code = curl_easy_perform(curl);
        if (code != expected) {
            fprintf(stderr, "transfer %ld: %s\n", i, curl_easy_strerror(code));
            return 1;
        }
    }
    printf("%.0f\n", (double)count * 1e9 / (double)(bench_now() - begun));
    curl_easy_cleanup(curl);
    return 0;
}
