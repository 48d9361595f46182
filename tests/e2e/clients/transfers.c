/*
 * A libcurl program: makes handles do what it is told, a word at a time. It knows nothing of prebreak.
 *
 *   transfers WORD...
 *     url=URL  curlu=URL  nocurlu  protocols=TEXT  mask=N  unix=PATH  timeout=MS  connect-only  follow  resolve=HOST:PORT:ADDRESS
 *                options of the handle in use
 *     dup        goes on with a duplicate;  other: with the handle before that;  reset;  new: with another new one
 *     perform    a transfer; says CODE STATUS OS_ERRNO and the error buffer
 *     jump       a transfer whose write callback jumps out of it; says "jumped"
 *     call=PORT  a transfer whose write callback makes a connection of its own to that port
 *     ask        sets a pre-request callback of its own, that says "ask" and the address;  ask=N: and aborts at the Nth time
 *     noask      takes it away
 *     raw        sends a request by curl_easy_send over what connect-only made, and says the first line of the answer
 *     line       waits for a line on stdin
 */
/* link with: -lcurl */
#define CURL_DISABLE_DEPRECATION
#include <arpa/inet.h>
#include <curl/curl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static CURL *easy, *before;
static char error[CURL_ERROR_SIZE];
static struct curl_slist *addresses;
static CURLU *parts;
static jmp_buf out;
static int own_port, asked, abort_at;

static size_t swallow(char *bytes, size_t size, size_t count, void *unused)
{
    (void)bytes, (void)unused;
    return size * count;
}

static size_t jump(char *bytes, size_t size, size_t count, void *unused)
{
    (void)bytes, (void)size, (void)count, (void)unused;
    longjmp(out, 1);
}

/* What a callback may do on its own account: ask somebody else. */
static size_t call(char *bytes, size_t size, size_t count, void *unused)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[4096];
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)bytes, (void)unused;
    address.sin_port = htons((unsigned short)own_port);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 && send(fd, request, sizeof request - 1, 0) > 0) {
        while (recv(fd, answer, sizeof answer, 0) > 0) {
        }
    }
    close(fd);
    return size * count;
}

static int ask(void *mine, char *ip, char *local_ip, int port, int local_port)
{
    (void)ip, (void)local_ip, (void)port, (void)local_port;
    printf("ask %s\n", mine == (void *)&asked ? ip : "somebody else");
    return ++asked == abort_at ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void set_ask(curl_prereq_callback callback, int at)
{
    abort_at = at;
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, &asked);
}

static void tell(CURLcode code)
{
    long status = 0, number = 0;

    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number);
    printf("%d %ld %ld %s\n", code, status, number, error);
    fflush(stdout);
}

static void perform(curl_write_callback write)
{
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write);
    error[0] = '\0';
    if (setjmp(out) != 0) {
        puts("jumped");
        return;
    }
    tell(curl_easy_perform(easy));
}

static void raw(void)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: raw\r\n\r\n";
    char answer[4096];
    size_t length = 0;
    CURLcode code = curl_easy_send(easy, request, sizeof request - 1, &length);

    while (code == CURLE_OK || code == CURLE_AGAIN) {
        code = curl_easy_recv(easy, answer, sizeof answer - 1, &length);
        if (code == CURLE_OK) {
            answer[length] = '\0';
            printf("%.*s\n", (int)strcspn(answer, "\r"), answer);
            return;
        }
        usleep(10000);
    }
    printf("raw %d\n", code);
}

static void fresh(void)
{
    before = easy;
    easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
}

static void set_curlu(const char *url)
{
    parts = curl_url();
    curl_url_set(parts, CURLUPART_URL, url, 0);
    curl_easy_setopt(easy, CURLOPT_CURLU, parts);
}

static void set_resolve(const char *text)
{
    addresses = curl_slist_append(addresses, text);
    curl_easy_setopt(easy, CURLOPT_RESOLVE, addresses);
}

static void option(const char *name, const char *value)
{
    if (strcmp(name, "url") == 0) {
        curl_easy_setopt(easy, CURLOPT_URL, value);
    } else if (strcmp(name, "curlu") == 0) {
        set_curlu(value);
    } else if (strcmp(name, "protocols") == 0) {
        curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, value);
    } else if (strcmp(name, "mask") == 0) {
        curl_easy_setopt(easy, CURLOPT_PROTOCOLS, atol(value));
    } else if (strcmp(name, "unix") == 0) {
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, value);
    } else if (strcmp(name, "timeout") == 0) {
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, atol(value));
    } else if (strcmp(name, "resolve") == 0) {
        set_resolve(value);
    } else if (strcmp(name, "ask") == 0) {
        set_ask(ask, atoi(value));
    } else if (strcmp(name, "call") == 0) {
        own_port = atoi(value);
        perform(call);
    } else {
        fprintf(stderr, "transfers: %s\n", name);
        exit(64);
    }
}

static void word(const char *name)
{
    CURL *swap = before;
    char line[16];

    if (strcmp(name, "perform") == 0) {
        perform(swallow);
    } else if (strcmp(name, "raw") == 0) {
        raw();
    } else if (strcmp(name, "jump") == 0) {
        perform(jump);
    } else if (strcmp(name, "dup") == 0) {
        before = easy;
        easy = curl_easy_duphandle(easy);
    } else if (strcmp(name, "other") == 0) {
        before = easy;
        easy = swap;
    } else if (strcmp(name, "new") == 0) {
        fresh();
    } else if (strcmp(name, "reset") == 0) {
        curl_easy_reset(easy);
    } else if (strcmp(name, "nocurlu") == 0) {
        curl_easy_setopt(easy, CURLOPT_CURLU, NULL);
    } else if (strcmp(name, "follow") == 0) {
        curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    } else if (strcmp(name, "noask") == 0) {
        set_ask(NULL, 0);
    } else if (strcmp(name, "connect-only") == 0) {
        curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
    } else if (strcmp(name, "line") != 0) {
        option(name, "");
    } else if (fgets(line, sizeof line, stdin) == NULL) {
        exit(1);
    }
}

int main(int argc, char **argv)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    fresh();
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');

        if (value == NULL) {
            word(argv[i]);
        } else {
            *value = '\0';
            option(argv[i], value + 1);
        }
    }
    curl_easy_cleanup(easy);
    if (before != NULL) {
        curl_easy_cleanup(before);
    }
    curl_slist_free_all(addresses);
    curl_url_cleanup(parts);
    curl_global_cleanup();
    return 0;
}
