/*
 * libcurl's multi interface on libevent, the way its manual has it: sockets and timers are the event loop's.
 *
 *   events HOST:PORT:ADDRESS... URL...
 *
 * Says CODE STATUS and the error buffer of each transfer as it completes. It knows nothing of prebreak.
 */
/* link with: -lcurl -levent_core */
#include <curl/curl.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct event_base *base;
static struct event *timer;
static CURLM *multi;

static size_t swallow(char *bytes, size_t size, size_t count, void *unused)
{
    (void)bytes, (void)unused;
    return size * count;
}

static void read_messages(void)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        CURL *easy = message->easy_handle;
        CURLcode code = message->data.result;
        char *error;
        long status;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &error);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        curl_multi_remove_handle(multi, easy);
        curl_easy_cleanup(easy);
        printf("%d %ld %s\n", code, status, error);
        free(error);
    }
}

static void act(curl_socket_t socket, int events)
{
    int running = 0;
    curl_multi_socket_action(multi, socket, events, &running);
    read_messages();
    if (running == 0) {
        event_base_loopbreak(base);
    }
}

static void socket_ready(evutil_socket_t socket, short what, void *unused)
{
    (void)unused;
    act(socket, (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static void timer_ran_out(evutil_socket_t none, short what, void *unused)
{
    (void)none, (void)what, (void)unused;
    act(CURL_SOCKET_TIMEOUT, 0);
}

static int on_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *known)
{
    struct event *event = known;
    (void)easy, (void)context;
    if (event != NULL) {
        event_free(event);
        event = NULL;
    }
    if (what != CURL_POLL_REMOVE) {
        short events = (short)((what & CURL_POLL_IN ? EV_READ : 0) | (what & CURL_POLL_OUT ? EV_WRITE : 0));
        event = event_new(base, socket, (short)(events | EV_PERSIST), socket_ready, NULL);
        event_add(event, NULL);
    }
    curl_multi_assign(multi, socket, event);
    return 0;
}

static int on_timer(CURLM *of, long ms, void *context)
{
    struct timeval wait = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    (void)of, (void)context;
    if (ms < 0) {
        evtimer_del(timer);
    } else {
        evtimer_add(timer, &wait);
    }
    return 0;
}

int main(int argc, char **argv)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    base = event_base_new();
    timer = evtimer_new(base, timer_ran_out, NULL);
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    struct curl_slist *addresses = NULL;
    for (int i = 1; i < argc; i++) {
        if (strstr(argv[i], "://") == NULL) {
            addresses = curl_slist_append(addresses, argv[i]);
            continue;
        }
        CURL *easy = curl_easy_init();
        char *error = calloc(1, CURL_ERROR_SIZE);
        curl_easy_setopt(easy, CURLOPT_URL, argv[i]);
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, swallow);
        curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
        curl_easy_setopt(easy, CURLOPT_PRIVATE, error);
        curl_easy_setopt(easy, CURLOPT_RESOLVE, addresses);
        curl_multi_add_handle(multi, easy);
    }
    event_base_dispatch(base);
    curl_multi_cleanup(multi);
    curl_slist_free_all(addresses);
    event_free(timer);
    event_base_free(base);
    curl_global_cleanup();
    return 0;
}
