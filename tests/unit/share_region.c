/*
 * Opens the region at the path given, makes a hundred calls, and says what it finds there: so that processes of other
 * word sizes can be compared with it.
 */
#include "real/real.h"
#include "state/event.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    static struct state state;
    struct prebreak_settings settings;
    struct breaker breaker;
    struct breaker_order order = {.hold = PREBREAK_CLOSED, .enforce = 65535};
    struct breaker_end ok = {.outcome = PREBREAK_OK, .answered = true};
    struct breaker_change change;
    struct breaker_call call;
    struct breaker_view view;
    struct event event;
    uint64_t events = 0;
    int slot;

    real_init();
    breaker_settings_default(PREBREAK_SRE, &settings);
    if (argc != 2 || state_open(&state, argv[1], STATE_CREATE) != STATE_SOUND) {
        return 1;
    }
    slot = state_slot(&state, "openai", &settings, false, 5);
    if (!state_breaker(&state, slot, NULL, &settings, &breaker)) {
        return 1;
    }
    struct breaker_caller who = {.now = UINT64_C(100000000000), .pid = state.pid, .pid_ns = state.pid_ns};
    for (int i = 0; i < 100; i++) {
        if (breaker_admit(&breaker, &who, &order, &call, &change)) {
            breaker_finish(&breaker, &who, &call, &ok, &change);
        }
    }
    breaker_view(&breaker, who.now, PREBREAK_CLOSED, &view);
    event_begin(&event, &state, EVENT_MODE, NULL);
    event_put(&state, &event);
    while (event_next(&state, events, &event)) {
        events = event.sequence;
    }
    printf("trouble=%d slot=%d identity=%llx namespace=%x ok=%llu held=%s events=%llu\n", state.trouble, slot,
           (unsigned long long)state_identity(&state, slot), state.pid_ns,
           (unsigned long long)view.outcome[PREBREAK_OK], breaker_phase_name(state_held(&state, "openai", 1)),
           (unsigned long long)events);
    return !state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0);
}
