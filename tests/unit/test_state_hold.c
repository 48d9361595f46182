/*
 * Holds and the mode: the operator's word, for every process and also for providers that do not exist yet.
 */
#include "state_fixture.h"
#include <time.h>

static struct state state;

static void begin(void)
{
    fixture_begin();
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
}

static int listed(uint64_t now)
{
    enum prebreak_phase phase;
    uint64_t until;
    char name[PREBREAK_NAME];
    int count = 0;

    for (int i = -1; i <= PREBREAK_HOLDS; i++) {
        count += state_hold_at(&state, i, now, name, &phase, &until);
    }
    return count;
}

START_TEST(a_hold_is_in_force_by_name_before_the_provider_exists)
{
    enum prebreak_phase phase = PREBREAK_CLOSED;
    uint64_t until = 1;
    char name[PREBREAK_NAME];

    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_CLOSED);
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_HELD_OPEN);
    ck_assert_int_eq(state_held(&state, "openai2", NOW), PREBREAK_CLOSED);
    ck_assert_int_eq(listed(NOW), 1);
    ck_assert(state_hold_at(&state, 0, NOW, name, &phase, &until));
    ck_assert_str_eq(name, "openai");
    ck_assert_int_eq(phase, PREBREAK_HELD_OPEN);
    ck_assert_uint_eq(until, 0);
}
END_TEST

START_TEST(another_process_sees_it)
{
    pid_t child = fork();

    if (child == 0) {
        struct state other;
        state_open(&other, region_path, STATE_EXISTING);
        _exit(!state_hold(&other, "openai", PREBREAK_HELD_CLOSED, 0));
    }
    ck_assert_int_eq(fixture_wait(child), 0);
    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_HELD_CLOSED);
}
END_TEST

START_TEST(holding_again_changes_the_hold_and_takes_no_second_place)
{
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_CLOSED, NOW + 10));
    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_HELD_CLOSED);
    ck_assert_int_eq(state_held(&state, "openai", NOW + 10), PREBREAK_CLOSED);
    ck_assert_int_eq(listed(NOW), 1);
}
END_TEST

START_TEST(a_hold_for_a_while_ends_by_itself)
{
    struct breaker_caller who = {.now = NOW + 20};

    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, NOW + 10));
    ck_assert(state_hold(&state, "stripe", PREBREAK_HELD_OPEN, 0));
    ck_assert_int_eq(state_held(&state, "openai", NOW + 9), PREBREAK_HELD_OPEN);
    ck_assert_int_eq(state_held(&state, "openai", NOW + 10), PREBREAK_CLOSED);
    ck_assert_int_eq(listed(NOW + 10), 1);

    state_look(&state, &who, NULL, NULL); /* and its place is free then */
    ck_assert_uint_eq(state.region->hold[0].state, 0);
    ck_assert_uint_eq(state.region->header.holds, 2);
    ck_assert_int_eq(state_held(&state, "stripe", NOW + 20), PREBREAK_HELD_OPEN);
}
END_TEST

START_TEST(releasing_ends_it_and_says_whether_there_was_one)
{
    ck_assert(!state_release(&state, "openai"));
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert(state_release(&state, "openai"));
    ck_assert(!state_release(&state, "openai"));
    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_CLOSED);
    ck_assert_uint_eq(state.region->header.holds, 0);
}
END_TEST

START_TEST(nonsense_is_not_held)
{
    ck_assert(!state_hold(&state, "", PREBREAK_HELD_OPEN, 0));
    ck_assert(!state_hold(&state, NULL, PREBREAK_HELD_OPEN, 0));
    ck_assert(!state_hold(&state, "a b", PREBREAK_HELD_OPEN, 0));
    ck_assert(!state_hold(&state, "openai", PREBREAK_OPEN, 0));
    ck_assert(!state_release(&state, NULL));
    ck_assert_uint_eq(state.region->header.holds, 0);
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert_int_eq(state_held(&state, NULL, NOW), PREBREAK_CLOSED);
    ck_assert_int_eq(state_held(&state, "a b", NOW), PREBREAK_CLOSED);
}
END_TEST

START_TEST(a_name_with_the_same_hash_is_another_name)
{
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    strcpy(state.region->hold[0].name, "stripe");
    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_CLOSED);
    ck_assert(!state_release(&state, "openai"));
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_CLOSED, 0));
    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_HELD_CLOSED);
    ck_assert_str_eq(state.region->hold[0].name, "stripe");
}
END_TEST

START_TEST(when_all_places_are_taken_one_that_has_run_out_is_used)
{
    char name[16];

    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        snprintf(name, sizeof name, "p%d", i);
        ck_assert(state_hold(&state, name, PREBREAK_HELD_OPEN, 0));
    }
    ck_assert(!state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert(state_hold(&state, "p7", PREBREAK_HELD_OPEN, 1)); /* long over */
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_HELD_OPEN);
    ck_assert_int_eq(state_held(&state, "p7", NOW), PREBREAK_CLOSED);
    ck_assert_int_eq(listed(NOW), PREBREAK_HOLDS);
}
END_TEST

START_TEST(an_operator_that_died_while_writing_a_hold_leaves_none_and_no_lost_place)
{
    char name[16];

    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    state.region->hold[0].state |= PREBREAK_HOLD_BUSY;
    memset(state.region->hold[0].name, 0, 3);
    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_CLOSED);
    ck_assert_int_eq(listed(NOW), 0);
    if (_i == 0) { /* the same name is set again */
        ck_assert(state_hold(&state, "openai", PREBREAK_HELD_CLOSED, 0));
        ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_HELD_CLOSED);
        ck_assert_int_eq(listed(NOW), 1);
    } else { /* or every place is needed */
        for (int i = 0; i < PREBREAK_HOLDS; i++) {
            snprintf(name, sizeof name, "p%d", i);
            ck_assert(state_hold(&state, name, PREBREAK_HELD_OPEN, 0));
        }
        ck_assert_int_eq(listed(NOW), PREBREAK_HOLDS);
    }
}
END_TEST

START_TEST(holds_set_and_released_by_many_at_once_end_as_the_last_word_says)
{
    pid_t children[8];

    for (int i = 0; i < 8; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            char name[8] = {'p', (char)('0' + i)};
            for (int j = 0; j < 2000; j++) {
                if (!state_hold(&state, name, j % 2 ? PREBREAK_HELD_OPEN : PREBREAK_HELD_CLOSED, 0) ||
                    state_held(&state, name, NOW) != (j % 2 ? PREBREAK_HELD_OPEN : PREBREAK_HELD_CLOSED) ||
                    (j % 3 == 0 && !state_release(&state, name))) {
                    _exit(1);
                }
            }
            _exit(0);
        }
    }
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(fixture_wait(children[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        char name[8] = {'p', (char)('0' + i)};
        ck_assert_int_eq(state_held(&state, name, NOW), PREBREAK_HELD_OPEN);
    }
    ck_assert_int_eq(listed(NOW), 8);
}
END_TEST

START_TEST(the_mode_is_every_processes_and_only_a_known_one)
{
    ck_assert_int_eq(state_mode(&state), PREBREAK_MODE_ENV);
    state_set_mode(&state, PREBREAK_MODE_OFF);
    ck_assert_int_eq(state_mode(&state), PREBREAK_MODE_OFF);
    state_set_mode(&state, PREBREAK_MODES);
    ck_assert_int_eq(state_mode(&state), PREBREAK_MODE_OFF);
    state.region->header.mode = UINT64_C(0x100000001);
    ck_assert_int_eq(state_mode(&state), PREBREAK_MODE_ENV);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hold");
    TCase *holds = tcase_create("holds");

    tcase_add_checked_fixture(holds, begin, fixture_end);
    tcase_set_timeout(holds, 60);
    tcase_add_test(holds, a_hold_is_in_force_by_name_before_the_provider_exists);
    tcase_add_test(holds, another_process_sees_it);
    tcase_add_test(holds, holding_again_changes_the_hold_and_takes_no_second_place);
    tcase_add_test(holds, a_hold_for_a_while_ends_by_itself);
    tcase_add_test(holds, releasing_ends_it_and_says_whether_there_was_one);
    tcase_add_test(holds, nonsense_is_not_held);
    tcase_add_test(holds, a_name_with_the_same_hash_is_another_name);
    tcase_add_test(holds, when_all_places_are_taken_one_that_has_run_out_is_used);
    tcase_add_loop_test(holds, an_operator_that_died_while_writing_a_hold_leaves_none_and_no_lost_place, 0, 2);
    tcase_add_test(holds, holds_set_and_released_by_many_at_once_end_as_the_last_word_says);
    tcase_add_test(holds, the_mode_is_every_processes_and_only_a_known_one);
    suite_add_tcase(suite, holds);
    return fixture_run(suite);
}
