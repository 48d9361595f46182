/*
 * A plain libcurl program on one kept-alive connection. It knows nothing of prebreak.
 *
 *   transfers pair URL LIBRARY   two of itself, without and with LIBRARY preloaded, by turns that are shorter than the
 *                                machine's moods: prints the median microseconds a transfer of both
 *   transfers turns URL          one of them: some transfers for each byte on stdin, their nanoseconds to stdout
 *   transfers refused URL COUNT  each transfer must fail with CURLE_COULDNT_CONNECT: prints microseconds a transfer
 *   transfers refused-multi ...  the same in a multi handle
 *   transfers own URL COUNT      each is one that libcurl must fail by itself, by its protocol; likewise own-multi
 *
 * link with: -lcurl
 */
#include "bench.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS    201
#define TRANSFER 100 // a turn

static size_t swallow(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes, (void)context;
    return size * count;
}

static CURL *handle(const char *url)
{
    CURL *curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, swallow);
    return curl;
}

static CURLM *multi; // NULL: the easy interface

static CURLcode transfer(CURL *curl)
{
    if (multi == NULL) {
        return curl_easy_perform(curl);
    }
    int running = 1, left;
    curl_multi_add_handle(multi, curl);
    while (running > 0) {
        curl_multi_perform(multi, &running);
    }
    const CURLMsg *message = curl_multi_info_read(multi, &left);
    CURLcode code = message != NULL ? message->data.result : CURLE_FAILED_INIT;
    curl_multi_remove_handle(multi, curl);
    return code;
}

// Nanoseconds for that many transfers; 0: one ended otherwise than expected.
static uint64_t transfers(CURL *curl, long count, CURLcode expected)
{
    uint64_t begun = bench_now();
    for (long i = 0; i < count; i++) {
        CURLcode code = transfer(curl);
        if (code != expected) {
            fprintf(stderr, "transfer %ld: %s\n", i, curl_easy_strerror(code));
            return 0;
        }
    }
    return bench_now() - begun;
}

static int turns(const char *url)
{
    CURL *curl = handle(url);
    uint64_t took = transfers(curl, TRANSFER, CURLE_OK); // to connect, and to warm up
    char go;
    while (took > 0 && read(0, &go, 1) == 1) {
        took = transfers(curl, TRANSFER, CURLE_OK);
        if (write(1, &took, sizeof took) != sizeof took) {
            break;
        }
    }
    curl_easy_cleanup(curl);
    return took == 0;
}

struct runner {
    int to, from;
};

static struct runner started(const char *self, const char *url, const char *library)
{
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) {
        perror("pipe");
        exit(1);
    }
    if (fork() == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        for (int fd = 3; fd < 16; fd++) {
            close(fd);
        }
        if (library != NULL) {
            setenv("LD_PRELOAD", library, 1);
        }
        execl(self, self, "turns", url, NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    return (struct runner){in[1], out[0]};
}

// Microseconds a transfer; negative: it is gone.
static double turn(const struct runner *runner)
{
    uint64_t took;
    bool good = write(runner->to, "", 1) == 1 && read(runner->from, &took, sizeof took) == sizeof took && took > 0;
    return good ? (double)took / TRANSFER / 1000 : -1;
}

static int pair(const char *self, const char *url, const char *library)
{
    static double took[2][TURNS];
    struct runner runner[2] = {started(self, url, NULL), started(self, url, library)};
    for (int i = 0; i < TURNS; i++) {
        int first = i % 2;
        took[first][i] = turn(&runner[first]);
        took[1 - first][i] = turn(&runner[1 - first]);
        if (took[0][i] < 0 || took[1][i] < 0) {
            fprintf(stderr, "a runner is gone\n");
            return 1;
        }
    }
    close(runner[0].to);
    close(runner[1].to);
    while (wait(NULL) > 0) {
    }
    printf("%.2f %.2f\n", bench_median(took[0], TURNS), bench_median(took[1], TURNS));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "pair") == 0) {
        return pair(argv[0], argv[2], argv[3]);
    }
    if (argc == 3 && strcmp(argv[1], "turns") == 0) {
        return turns(argv[2]);
    }
    const char *how = argc == 4 ? argv[1] : "";
    bool own = strncmp(how, "own", 3) == 0;
    long count = own || strncmp(how, "refused", 7) == 0 ? strtol(argv[3], NULL, 10) : 0;
    if (count < 1) {
        fprintf(stderr, "usage: transfers pair URL LIBRARY | turns URL | (refused|own)[-multi] URL COUNT\n");
        return 64;
    }
    CURL *curl = handle(argv[2]);
    if (own) {
        curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "file");
    }
    if (strstr(how, "-multi") != NULL) {
        multi = curl_multi_init();
    }
    uint64_t took = transfers(curl, count, own ? CURLE_UNSUPPORTED_PROTOCOL : CURLE_COULDNT_CONNECT);
    curl_multi_cleanup(multi);
    curl_easy_cleanup(curl);
    printf("%.2f\n", (double)took / (double)count / 1000);
    return took == 0;
}
