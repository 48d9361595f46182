/*
 * Slots: one provider, one slot, however many ask for it at once and whatever stands in the region.
 */
#include "state_fixture.h"
#include <sys/mman.h>

static struct state state;

static void begin(void)
{
    fixture_begin();
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
}

static int claimed_slots(void)
{
    int claimed = 0;

    for (int slot = 0; slot < PREBREAK_SLOTS; slot++) {
        claimed += state_identity(&state, slot) != 0;
    }
    return claimed;
}

static int numbered_slot(const char *prefix, int number, bool nameless, uint64_t now)
{
    char name[PREBREAK_NAME];

    snprintf(name, sizeof name, "%s%d", prefix, number);
    return state_slot(&state, name, &defaults, nameless, now);
}

START_TEST(a_provider_has_one_slot_and_another_one_another)
{
    int openai = state_slot(&state, "openai", &defaults, false, NOW);
    int stripe = state_slot(&state, "stripe", &defaults, false, NOW);

    ck_assert_int_ge(openai, 0);
    ck_assert_int_ge(stripe, 0);
    ck_assert_int_ne(openai, stripe);
    ck_assert_int_eq(state_slot(&state, "openai", &defaults, false, NOW + 1), openai);
    ck_assert_int_eq(claimed_slots(), 2);
}
END_TEST

START_TEST(one_name_with_other_settings_is_another_slot)
{
    struct prebreak_settings other = defaults, copy;
    struct breaker breaker;
    char name[PREBREAK_NAME];
    int slot, first = state_slot(&state, "openai", &defaults, false, NOW);

    other.trip++;
    slot = state_slot(&state, "openai", &other, false, NOW);
    ck_assert_int_ne(slot, first);
    ck_assert(state_breaker(&state, slot, NULL, &copy, &breaker));
    ck_assert_uint_eq(copy.trip, other.trip);
    ck_assert_ptr_eq(breaker.settings, &copy);
    ck_assert_uint_eq(breaker.slot, (uint32_t)slot);
    ck_assert_ptr_eq(breaker.words, &state.region->slot[slot].breaker);
    ck_assert_ptr_eq(breaker.inflight, state.region->inflight);
    ck_assert(state_breaker(&state, slot, &defaults, NULL, &breaker));
    ck_assert_ptr_eq(breaker.settings, &defaults);
    ck_assert(state_name(&state, slot, name));
    ck_assert_str_eq(name, "openai");
}
END_TEST

START_TEST(names_of_every_shape_that_rules_make_fit)
{
    char longest[PREBREAK_NAME], too_long[PREBREAK_NAME + 1], name[PREBREAK_NAME];
    const char *const good[] = {
        "a", "api.openai.com", "llm@api.openai.com:8443", "10.0.0.1:80", "[::1]:8080", "unix:/run/db", longest};
    const char *const bad[] = {"", "a b", "a\"b", "a\nb", "a{b}", "\xff", "a%b", "a=b", too_long};

    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    memset(too_long, 'x', sizeof too_long - 1);
    too_long[sizeof too_long - 1] = '\0';
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert(state_name(&state, state_slot(&state, good[i], &defaults, false, NOW), name));
        ck_assert_str_eq(name, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(state_slot(&state, bad[i], &defaults, false, NOW), -1);
    }
    ck_assert_int_eq(state_slot(&state, NULL, &defaults, false, NOW), -1);
    ck_assert_int_eq(claimed_slots(), sizeof good / sizeof *good);
    ck_assert_uint_eq(state.region->header.table_full, 0);
}
END_TEST

START_TEST(settings_that_are_not_sound_get_no_slot)
{
    struct prebreak_settings bad = defaults;

    bad.buckets = 0;
    ck_assert_int_eq(state_slot(&state, "openai", &bad, false, NOW), -1);
    ck_assert_int_eq(claimed_slots(), 0);
}
END_TEST

START_TEST(fifty_processes_that_claim_the_same_names_at_once_agree)
{
    enum { CHILDREN = 50, NAMES = 12 };
    int go[2], *slots = mmap(NULL, 4096 * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[CHILDREN];

    ck_assert_int_eq(pipe(go), 0);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            char byte;
            close(go[1]);
            if (read(go[0], &byte, 1) != 0) {
                _exit(1);
            }
            for (int j = 0; j < NAMES; j++) {
                int number = (i + j) % NAMES;
                slots[i * NAMES + number] = numbered_slot("host-", number, i % 2, NOW);
            }
            _exit(0);
        }
    }
    close(go[0]);
    close(go[1]);
    for (int i = 0; i < CHILDREN; i++) {
        ck_assert_int_eq(fixture_wait(children[i]), 0);
    }

    ck_assert_int_eq(claimed_slots(), NAMES);
    for (int i = 0; i < CHILDREN * NAMES; i++) {
        ck_assert_int_eq(slots[i], slots[i % NAMES]);
    }
    for (int i = 0; i < NAMES; i++) {
        char name[PREBREAK_NAME], expected[24];
        snprintf(expected, sizeof expected, "host-%d", i);
        ck_assert(state_name(&state, slots[i], name));
        ck_assert_str_eq(name, expected);
    }
    ck_assert_uint_le(state.region->header.nameless, NAMES);
}
END_TEST

START_TEST(a_claimer_that_died_before_it_wrote_the_name_blocks_nobody)
{
    int slot = state_slot(&state, "openai", &defaults, false, NOW);
    struct prebreak_slot *there = &state.region->slot[slot];
    struct prebreak_settings copy;
    struct breaker breaker;
    char name[PREBREAK_NAME];

    there->ready = 0;
    memset(there->name + 3, 0, sizeof there->name - 3);
    memset(&there->settings, 0, sizeof there->settings);
    ck_assert(!state_name(&state, slot, name));
    ck_assert(!state_breaker(&state, slot, NULL, &copy, &breaker));

    ck_assert_int_eq(state_slot(&state, "openai", &defaults, false, NOW), slot);
    ck_assert(state_name(&state, slot, name));
    ck_assert_str_eq(name, "openai");
    ck_assert(state_breaker(&state, slot, NULL, &copy, &breaker));
    ck_assert_mem_eq(&copy, &defaults, sizeof copy);
}
END_TEST

START_TEST(two_names_with_one_hash_are_two_slots)
{
    int first = state_slot(&state, "openai", &defaults, false, NOW), second;
    char name[PREBREAK_NAME];

    /* What openai's hash says now belongs to somebody else, whole and ready. */
    strcpy(state.region->slot[first].name, "stripe");
    second = state_slot(&state, "openai", &defaults, false, NOW);
    ck_assert_int_ge(second, 0);
    ck_assert_int_ne(second, first);
    ck_assert_int_eq(state_slot(&state, "openai", &defaults, false, NOW), second);
    ck_assert(state_name(&state, first, name));
    ck_assert_str_eq(name, "stripe");
}
END_TEST

START_TEST(a_full_table_lets_further_providers_pass_and_counts_them)
{
    for (int i = 0; i < PREBREAK_SLOTS; i++) {
        ck_assert_int_ge(numbered_slot("p", i, false, NOW), 0);
    }
    ck_assert_int_eq(claimed_slots(), PREBREAK_SLOTS);

    ck_assert_int_eq(numbered_slot("late", 0, false, NOW), -1);
    ck_assert_int_eq(numbered_slot("late", 1, true, NOW), -1);
    ck_assert_uint_eq(state.region->header.table_full, 2);
    ck_assert_uint_eq(state.region->header.nameless, 0);
    for (int i = 0; i < PREBREAK_SLOTS; i++) {
        ck_assert_int_ge(numbered_slot("p", i, false, NOW), 0);
    }
}
END_TEST

/* ---- hosts named after themselves ------------------------------------------------------------------------------- */

static void fill_nameless(void)
{
    for (int i = 0; i < PREBREAK_SLOTS_NAMELESS; i++) {
        ck_assert_int_ge(numbered_slot("host", i, true, NOW), 0);
    }
}

START_TEST(hosts_named_after_themselves_leave_room_for_those_that_a_rule_names)
{
    fill_nameless();
    ck_assert_int_eq(numbered_slot("another", 0, true, NOW), -1);
    ck_assert_int_eq(claimed_slots(), PREBREAK_SLOTS_NAMELESS);
    for (int i = 0; i < PREBREAK_SLOTS - PREBREAK_SLOTS_NAMELESS; i++) {
        ck_assert_int_ge(numbered_slot("rule", i, false, NOW), 0);
    }
    ck_assert_int_eq(numbered_slot("rule", 999, false, NOW), -1);
}
END_TEST

START_TEST(an_idle_host_gives_its_slot_to_another_one_with_nothing_left_in_it)
{
    struct breaker_view view;
    struct breaker breaker;
    char name[PREBREAK_NAME];
    uint64_t before, later = NOW + HOUR;
    int slot;

    fill_nameless();
    for (int i = 0; i < PREBREAK_SLOTS; i++) {
        state.region->slot[i].breaker.totals[0].outcome[PREBREAK_OK] = 5;
    }
    ck_assert_int_eq(numbered_slot("another", 0, true, later - 1), -1);
    slot = numbered_slot("another", 0, true, later);
    ck_assert_int_ge(slot, 0);
    ck_assert(state_name(&state, slot, name));
    ck_assert_str_eq(name, "another0");
    ck_assert(state_breaker(&state, slot, &defaults, NULL, &breaker));
    breaker_view(&breaker, later, PREBREAK_CLOSED, &view);
    ck_assert_uint_eq(view.outcome[PREBREAK_OK], 0);

    /* It is not idle from now on, and it is found again though free places come before it. */
    before = state_identity(&state, slot);
    ck_assert_int_ne(numbered_slot("another", 1, true, later), slot);
    ck_assert_int_eq(numbered_slot("another", 0, true, later), slot);
    ck_assert_uint_eq(state_identity(&state, slot), before);
    ck_assert_int_eq(claimed_slots(), PREBREAK_SLOTS_NAMELESS);
}
END_TEST

START_TEST(who_keeps_a_slots_number_sees_that_it_was_given_away)
{
    uint64_t identities[PREBREAK_SLOTS];
    int slot;

    fill_nameless();
    for (int i = 0; i < PREBREAK_SLOTS; i++) {
        identities[i] = state_identity(&state, i);
    }
    slot = numbered_slot("another", 0, true, NOW + HOUR);
    for (int i = 0; i < PREBREAK_SLOTS; i++) {
        ck_assert((state_identity(&state, i) != identities[i]) == (i == slot));
    }
    ck_assert_uint_eq(state_identity(&state, -1), 0);
    ck_assert_uint_eq(state_identity(&state, PREBREAK_SLOTS), 0);
}
END_TEST

/* Makes every nameless slot but one busy in a way; the one must be what a newcomer gets. */
static void only_idle_one_is_taken(void (*make_busy)(int slot))
{
    int chosen = -1;

    fill_nameless();
    for (int i = 0; i < PREBREAK_SLOTS; i++) {
        if (state_identity(&state, i) == 0) {
            continue;
        }
        if (chosen < 0) {
            chosen = i;
        } else {
            make_busy(i);
        }
    }
    ck_assert_int_eq(numbered_slot("another", 0, true, NOW + 2 * HOUR), chosen);
    ck_assert_int_eq(numbered_slot("another", 1, true, NOW + 2 * HOUR), -1);
}

static void called_lately(int slot)
{
    state.region->slot[slot].breaker.last_call = NOW + HOUR + 1;
}

static void named_by_a_rule(int slot)
{
    char name[PREBREAK_NAME];

    ck_assert(state_name(&state, slot, name));
    ck_assert_int_eq(state_slot(&state, name, &defaults, false, NOW), slot);
}

static void opened(int slot)
{
    struct breaker_caller who = {.now = NOW};
    struct breaker_order order = {.hold = PREBREAK_CLOSED, .enforce = 65535};
    struct breaker_end end = {.outcome = PREBREAK_FAILED, .kind = PREBREAK_KIND_CONNECT};
    struct breaker_change change;
    struct breaker breaker;

    ck_assert(state_breaker(&state, slot, &defaults, NULL, &breaker));
    for (int i = 0; i < 200; i++) {
        struct breaker_call call;
        who.now += 100000000;
        if (breaker_admit(&breaker, &who, &order, &call, &change)) {
            breaker_finish(&breaker, &who, &call, &end, &change);
        }
    }
}

static void in_flight(int slot)
{
    struct breaker_caller who = {.now = NOW, .pid = 7, .shard = (uint32_t)slot * 16, .draw = (uint32_t)slot * 7919};
    struct breaker_order order = {.hold = PREBREAK_CLOSED, .enforce = 65535};
    struct breaker_change change;
    struct breaker breaker;
    struct breaker_call call;

    ck_assert(state_breaker(&state, slot, &defaults, NULL, &breaker));
    ck_assert(breaker_admit(&breaker, &who, &order, &call, &change));
    ck_assert_uint_ne(call.word, 0);
}

START_TEST(a_host_that_is_not_idle_keeps_its_slot)
{
    static void (*const ways[])(int) = {called_lately, named_by_a_rule, opened, in_flight};

    only_idle_one_is_taken(ways[_i]);
}
END_TEST

START_TEST(a_rule_that_finds_the_table_full_gets_the_slot_of_an_idle_host)
{
    fill_nameless();
    for (int i = 0; i < PREBREAK_SLOTS - PREBREAK_SLOTS_NAMELESS; i++) {
        ck_assert_int_ge(numbered_slot("rule", i, false, NOW), 0);
    }
    ck_assert_int_ge(numbered_slot("late", 0, false, NOW + 2 * HOUR), 0);
    ck_assert_uint_eq(state.region->header.nameless, PREBREAK_SLOTS_NAMELESS - 1);
}
END_TEST

/* ---- garbage ---------------------------------------------------------------------------------------------------- */

START_TEST(random_bits_in_any_part_do_no_harm)
{
    struct {
        size_t at, size;
    } const parts[] = {
        {sizeof(struct prebreak_header), sizeof(struct prebreak_region) - sizeof(struct prebreak_header)},
        {offsetof(struct prebreak_header, mode),
         sizeof(struct prebreak_header) - offsetof(struct prebreak_header, mode)},
        {offsetof(struct prebreak_region, identity), sizeof state.region->identity},
        {offsetof(struct prebreak_region, slot), sizeof state.region->slot},
        {offsetof(struct prebreak_region, inflight), sizeof state.region->inflight},
        {offsetof(struct prebreak_region, hold), sizeof state.region->hold},
        {offsetof(struct prebreak_region, process), sizeof state.region->process},
    };
    uint64_t seed = UINT64_C(88172645463325252) + (uint64_t)_i;
    size_t part = (size_t)_i % (sizeof parts / sizeof *parts);
    struct breaker_caller who = {.now = NOW, .pid = state.pid, .pid_ns = state.pid_ns};

    for (int i = 0; i < 300; i++) {
        ck_assert_int_ge(numbered_slot("p", i, i % 2, NOW), 0);
    }
    /* Words of random bits; every second round one in eight only, so that much still looks right. */
    for (size_t i = 0; i < parts[part].size / 8; i++) {
        uint64_t word = fixture_random(&seed);
        if (_i % 2 == 0 || word % 8 == 0) {
            memcpy((char *)state.region + parts[part].at + i * 8, &word, sizeof word);
        }
    }

    for (int slot = -1; slot <= PREBREAK_SLOTS; slot++) {
        struct prebreak_settings copy;
        struct breaker breaker;
        struct breaker_view view;
        char name[PREBREAK_NAME];
        if (state_breaker(&state, slot, NULL, &copy, &breaker)) {
            breaker_view(&breaker, NOW, PREBREAK_CLOSED, &view);
        }
        if (state_name(&state, slot, name)) {
            ck_assert_uint_gt(state_name_sound(name), 0);
        }
    }
    state_look(&state, &who, NULL, NULL);
    for (int i = 0; i < 20; i++) {
        numbered_slot("q", i, i % 2, NOW + (uint64_t)i * HOUR);
        numbered_slot("p", i, i % 2, NOW);
        state_held(&state, "openai", NOW);
    }
    state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0);
    state_release(&state, "openai");
    ck_assert_int_lt(state_mode(&state), PREBREAK_MODES);
    state_enrol(&state);
    state_processes(&state);
    state_forked(&state);
}
END_TEST

START_TEST(the_hash_is_siphash_2_4)
{
    /* From an implementation that gives the reference vectors, with the upper half of the key that is ours. */
    const uint64_t key = UINT64_C(0x0706050403020100);
    unsigned char bytes[64];

    for (int i = 0; i < 64; i++) {
        bytes[i] = (unsigned char)i;
    }
    ck_assert_uint_eq(state_hash(key, "", 0), UINT64_C(0xa9481fc62b03d0d0));
    ck_assert_uint_eq(state_hash(key, "prebreak", 8), UINT64_C(0x98bc1c3ff99a5691));
    ck_assert_uint_eq(state_hash(key, bytes, 15), UINT64_C(0xbba177d333fefdec));
    ck_assert_uint_eq(state_hash(key, bytes, 64), UINT64_C(0xd618e4b172c1d72c));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slot");
    TCase *slots = tcase_create("slots");

    tcase_add_checked_fixture(slots, begin, fixture_end);
    tcase_set_timeout(slots, 60);
    tcase_add_test(slots, a_provider_has_one_slot_and_another_one_another);
    tcase_add_test(slots, one_name_with_other_settings_is_another_slot);
    tcase_add_test(slots, names_of_every_shape_that_rules_make_fit);
    tcase_add_test(slots, settings_that_are_not_sound_get_no_slot);
    tcase_add_test(slots, fifty_processes_that_claim_the_same_names_at_once_agree);
    tcase_add_test(slots, a_claimer_that_died_before_it_wrote_the_name_blocks_nobody);
    tcase_add_test(slots, two_names_with_one_hash_are_two_slots);
    tcase_add_test(slots, a_full_table_lets_further_providers_pass_and_counts_them);
    tcase_add_test(slots, hosts_named_after_themselves_leave_room_for_those_that_a_rule_names);
    tcase_add_test(slots, an_idle_host_gives_its_slot_to_another_one_with_nothing_left_in_it);
    tcase_add_test(slots, who_keeps_a_slots_number_sees_that_it_was_given_away);
    tcase_add_loop_test(slots, a_host_that_is_not_idle_keeps_its_slot, 0, 4);
    tcase_add_test(slots, a_rule_that_finds_the_table_full_gets_the_slot_of_an_idle_host);
    tcase_add_loop_test(slots, random_bits_in_any_part_do_no_harm, 0, 42);
    tcase_add_test(slots, the_hash_is_siphash_2_4);
    suite_add_tcase(suite, slots);
    return fixture_run(suite);
}
