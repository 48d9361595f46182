/*
 * A libcurl program that takes bodies in each way there is. It knows nothing of prebreak.
 *
 *   bodies WAY URL...
 *     plain      a write callback with data of its own
 *     nodata     one that was given no data, and finds stdout
 *     file       no callback: libcurl writes to a file
 *     headers    header lines come to the write callback too (CURLOPT_HEADER)
 *     lines      they come to it by CURLOPT_HEADERDATA alone
 *     short      takes one byte less than it was given, at its second call
 *     pause      takes nothing at its second and fourth call, and goes on a little later
 *     rest=MS    the same once, for that long
 *     hold=MS    stops the transfer for that long when something has come
 *     scribble   overwrites what it was given
 *     swap       sets another callback within the first
 *     stop=N     returns 0 when it has seen so many bytes
 *
 * Says what came, as it came, then CODE and STATUS of each transfer.
 */
/* link with: -lcurl */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static CURL *easy;
static const char *way;
static unsigned calls;
static size_t seen, limit;
static bool paused;
static double begun;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is(const char *name)
{
    return strncmp(way, name, strlen(name)) == 0;
}

static size_t second(char *bytes, size_t size, size_t count, void *file)
{
    fputs("<second>", file);
    return fwrite(bytes, size, count, file);
}

static size_t take(char *bytes, size_t size, size_t count, void *file)
{
    calls++;
    if ((is("pause") && calls % 2 == 0 && calls <= 4) || (is("rest") && calls == 2)) {
        paused = true;
        begun = now();
        return CURL_WRITEFUNC_PAUSE;
    }
    if (is("short") && calls == 2) {
        return size * count - 1;
    }
    seen += size * count;
    if (is("stop") && seen >= limit) {
        return 0;
    }
    if (is("swap") && calls == 2) {
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, second);
    }
    fwrite(bytes, size, count, file);
    if (is("scribble")) {
        memset(bytes, 'x', size * count);
    }
    return size * count;
}

static int go_on(void *unused, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)unused, (void)a, (void)b, (void)c, (void)d;
    if (is("hold") && calls > 0 && begun == 0) {
        paused = true;
        begun = now();
        curl_easy_pause(easy, CURLPAUSE_RECV);
    }
    if (paused && now() - begun > (limit != 0 ? (double)limit / 1000 : 0.01)) {
        paused = false;
        curl_easy_pause(easy, CURLPAUSE_CONT);
    }
    return 0;
}

static void prepare(const char *url)
{
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, go_on);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    if (!is("file")) {
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    }
    if (!is("nodata")) {
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, stdout);
    }
    if (is("headers")) {
        curl_easy_setopt(easy, CURLOPT_HEADER, 1L);
    }
    if (is("lines")) {
        curl_easy_setopt(easy, CURLOPT_HEADERDATA, stdout);
    }
}

int main(int argc, char **argv)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    easy = curl_easy_init();
    way = argc > 1 ? argv[1] : "plain";
    limit = strchr(way, '=') != NULL ? strtoul(strchr(way, '=') + 1, NULL, 10) : 0;
    for (int i = 2; i < argc; i++) {
        calls = 0;
        seen = 0;
        paused = false;
        prepare(argv[i]);
        CURLcode code = curl_easy_perform(easy);
        long status = 0;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        printf("\n%d %ld\n", code, status);
    }
    curl_easy_cleanup(easy);
    curl_global_cleanup();
    return 0;
}
