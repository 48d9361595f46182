/*
 * A region gives way to another one: to one of our version beside it, or to a fresh one that the operator asked for.
 */
#include "state_fixture.h"

static struct state state;

/* ---- other versions --------------------------------------------------------------------------------------------- */

/* A region of a later version at the path: with header and holds as ever, and who knows what behind them. */
static void leave_other_version(void)
{
    const uint64_t version = 7, size = 5 << 20;

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    state_set_mode(&state, PREBREAK_MODE_OBSERVE);
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert(state_hold(&state, "stripe", PREBREAK_HELD_CLOSED, UINT64_MAX));
    ck_assert(state_hold(&state, "expired", PREBREAK_HELD_OPEN, 1));
    state_close(&state);
    ck_assert_int_eq(truncate(region_path, (off_t)size), 0);
    fixture_poke(region_path, offsetof(struct prebreak_header, version), &version, sizeof version);
    fixture_poke(region_path, offsetof(struct prebreak_header, size), &size, sizeof size);
}

/* What leave_other_version() set is in force. */
static void orders_taken_over(void)
{
    enum prebreak_phase phase;
    uint64_t until;
    char name[PREBREAK_NAME];
    int held = 0;

    ck_assert_int_eq(state_mode(&state), PREBREAK_MODE_OBSERVE);
    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_HELD_OPEN);
    ck_assert_int_eq(state_held(&state, "stripe", NOW), PREBREAK_HELD_CLOSED);
    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        held += state_hold_at(&state, i, 0, name, &phase, &until);
    }
    ck_assert_int_eq(held, 2);
}

START_TEST(beside_a_region_of_another_version_stands_ours_with_its_mode_and_holds)
{
    struct stat before, after;
    char versioned[160];

    leave_other_version();
    ck_assert_int_eq(stat(region_path, &before), 0);

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert(state.shared);
    orders_taken_over();
    ck_assert(!state_stale(&state));
    snprintf(versioned, sizeof versioned, "%s.v%d", region_path, PREBREAK_REGION_VERSION);
    ck_assert_int_eq(stat(versioned, &after), 0);
    ck_assert_int_eq(stat(region_path, &after), 0);
    ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_SOUND);
}
END_TEST

START_TEST(the_command_says_so_where_no_region_of_our_version_stands_beside)
{
    leave_other_version();
    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_OTHER_VERSION);
    ck_assert_int_eq(fixture_files(), 1);
}
END_TEST

START_TEST(recreating_over_another_version_takes_its_mode_and_holds_over)
{
    leave_other_version();
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_SOUND);
    orders_taken_over();
}
END_TEST

START_TEST(recreating_takes_over_from_the_region_in_use_and_leaves_one_file)
{
    struct state fresh;

    leave_other_version();
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert(state.versioned);
    ck_assert_int_eq(fixture_files(), 2);
    ck_assert(state_release(&state, "openai")); /* said since, to the one beside */
    ck_assert(state_hold(&state, "later", PREBREAK_HELD_OPEN, 0));
    state_set_mode(&state, PREBREAK_MODE_OFF);

    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
    ck_assert_int_eq(fixture_files(), 1);
    ck_assert_uint_ne(state.region->header.retired, 0);
    ck_assert(state_stale(&state));
    ck_assert_int_eq(state_open(&fresh, region_path, STATE_EXISTING), STATE_SOUND);
    ck_assert(!fresh.versioned);
    ck_assert_int_eq(state_mode(&fresh), PREBREAK_MODE_OFF);
    ck_assert_int_eq(state_held(&fresh, "openai", NOW), PREBREAK_CLOSED);
    ck_assert_int_eq(state_held(&fresh, "later", NOW), PREBREAK_HELD_OPEN);
    ck_assert_int_eq(state_held(&fresh, "stripe", NOW), PREBREAK_HELD_CLOSED);
}
END_TEST

START_TEST(garbage_in_the_holds_of_another_version_is_not_taken_over)
{
    uint64_t seed = 88172645463325252;
    uint64_t bytes[sizeof(struct prebreak_hold) * PREBREAK_HOLDS / 8];
    enum prebreak_phase phase;
    uint64_t until;
    char name[PREBREAK_NAME];

    leave_other_version();
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        bytes[i] = fixture_random(&seed);
    }
    fixture_poke(region_path, offsetof(struct prebreak_region, hold), bytes, sizeof bytes);
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        ck_assert(!state_hold_at(&state, i, 0, name, &phase, &until));
    }
    fixture_works(&state);
}
END_TEST

/* ---- replacing -------------------------------------------------------------------------------------------------- */

START_TEST(recreating_keeps_mode_and_holds_and_tells_who_has_the_old_one_mapped)
{
    struct state fresh;

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    state_set_mode(&state, PREBREAK_MODE_OBSERVE);
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert_int_ge(state_slot(&state, "openai", &defaults, false, NOW), 0);
    ck_assert(!state_stale(&state));

    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
    ck_assert_uint_ne(state.region->header.retired, 0);
    ck_assert(state_stale(&state));
    ck_assert_int_eq(state_open(&fresh, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_ptr_ne(fresh.region, state.region);
    ck_assert(!state_stale(&fresh));
    ck_assert_int_eq(state_mode(&fresh), PREBREAK_MODE_OBSERVE);
    ck_assert_int_eq(state_held(&fresh, "openai", NOW), PREBREAK_HELD_OPEN);
    ck_assert_uint_eq(fresh.region->identity[state_slot(&state, "openai", &defaults, false, NOW)], 0);
    ck_assert_int_eq(fixture_files(), 1);
    fixture_works(&state); /* calls in flight go on with the old one */
}
END_TEST

START_TEST(recreating_heals_what_cannot_be_used)
{
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND); /* nothing */
    ck_assert_int_eq(truncate(region_path, 100), 0);
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND); /* a stump */
    ck_assert_int_eq(chmod(region_path, 0666), 0);
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND); /* an open door */
    ck_assert_int_eq(unlink(region_path), 0);
    ck_assert_int_eq(symlink("/etc/passwd", region_path), 0);
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND); /* a trap */
    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_SOUND);
    ck_assert_int_eq(fixture_files(), 1);

    ck_assert_int_eq(unlink(region_path), 0);
    ck_assert_int_eq(mkdir(region_path, 0700), 0);
    ck_assert_int_eq(state_recreate(region_path), STATE_NOT_A_FILE);
    ck_assert_int_eq(state_recreate("private"), STATE_PRIVATE);
}
END_TEST

START_TEST(private_state_ends_when_its_cause_is_replaced)
{
    ck_assert_int_eq(symlink("/nowhere", region_path), 0);
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_NOT_A_FILE);
    ck_assert(!state_stale(&state));
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
    ck_assert(state_stale(&state));
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
}
END_TEST

START_TEST(a_region_that_was_removed_is_made_anew)
{
    struct prebreak_region *old;

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    old = state.region;
    ck_assert_int_eq(unlink(region_path), 0);
    ck_assert(state_stale(&state));
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_ptr_ne(state.region, old);
    ck_assert(!state_stale(&state));
}
END_TEST

START_TEST(a_path_that_is_another_one_by_now_is_no_reason_to_map_again)
{
    char path[300], elsewhere[300];

    snprintf(path, sizeof path, "%s.d", region_path);
    snprintf(elsewhere, sizeof elsewhere, "%s.e", region_path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    strcat(path, "/state");
    ck_assert_int_eq(state_open(&state, path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    ck_assert_int_eq(rename(path, elsewhere), 0);
    ck_assert(!state_stale(&state)); /* as in a changed root, where there is no such directory */
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert(!state_stale(&state)); /* or another */
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(rmdir(elsewhere), 0);
}
END_TEST

START_TEST(a_region_that_was_cut_short_can_be_touched_once_it_was_found_out)
{
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(truncate(region_path, 0), 0);
    ck_assert(state_stale(&state));
    state.region->inflight[0] = 1; /* no SIGBUS */
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SHORT);
    /* It is left alone, and if it is replaced by a sound one, that is mapped */
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_uint_eq(state.region->inflight[0], 0);
}
END_TEST

START_TEST(another_effective_uid_is_a_reason_to_map_again)
{
    if (geteuid() != 0) {
        return;
    }
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(seteuid(NOBODY), 0);
    ck_assert(state_stale(&state));
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert(!state_stale(&state));
}
END_TEST

START_TEST(what_is_mapped_once_is_not_mapped_again)
{
    struct prebreak_region *shared, *private;

    state_open(&state, region_path, STATE_CREATE);
    shared = state.region;
    state_open(&state, "private", STATE_CREATE);
    private = state.region;
    for (int i = 0; i < 100; i++) {
        state_open(&state, region_path, STATE_CREATE);
        ck_assert_ptr_eq(state.region, shared);
        state_open(&state, "/nowhere/at/all", STATE_CREATE);
        ck_assert_ptr_eq(state.region, private);
    }
}
END_TEST

START_TEST(closing_one_of_two_states_on_a_region_leaves_the_other_one_its_own)
{
    struct state other;

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(state_open(&other, region_path, STATE_EXISTING), STATE_SOUND);
    state_close(&state);
    ck_assert_ptr_null(state.region);
    fixture_works(&other);
}
END_TEST

START_TEST(more_replacements_than_are_noted_still_map)
{
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
        ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
        ck_assert_uint_eq(state.region->header.retired, 0);
    }
}
END_TEST

START_TEST(every_trouble_has_a_text)
{
    for (int trouble = 0; trouble < STATE_TROUBLES; trouble++) {
        ck_assert_ptr_nonnull(state_trouble_text((enum state_trouble)trouble));
    }
    ck_assert_ptr_nonnull(state_trouble_text(STATE_TROUBLES));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replace");
    TCase *versions = tcase_create("versions");
    TCase *replacing = tcase_create("replacing");

    tcase_add_checked_fixture(versions, fixture_begin, fixture_end);
    tcase_set_timeout(versions, 60);
    tcase_add_test(versions, beside_a_region_of_another_version_stands_ours_with_its_mode_and_holds);
    tcase_add_test(versions, the_command_says_so_where_no_region_of_our_version_stands_beside);
    tcase_add_test(versions, recreating_over_another_version_takes_its_mode_and_holds_over);
    tcase_add_test(versions, recreating_takes_over_from_the_region_in_use_and_leaves_one_file);
    tcase_add_test(versions, garbage_in_the_holds_of_another_version_is_not_taken_over);
    suite_add_tcase(suite, versions);
    tcase_add_checked_fixture(replacing, fixture_begin, fixture_end);
    tcase_set_timeout(replacing, 60);
    tcase_add_test(replacing, recreating_keeps_mode_and_holds_and_tells_who_has_the_old_one_mapped);
    tcase_add_test(replacing, recreating_heals_what_cannot_be_used);
    tcase_add_test(replacing, private_state_ends_when_its_cause_is_replaced);
    tcase_add_test(replacing, a_region_that_was_removed_is_made_anew);
    tcase_add_test(replacing, a_path_that_is_another_one_by_now_is_no_reason_to_map_again);
    tcase_add_test(replacing, a_region_that_was_cut_short_can_be_touched_once_it_was_found_out);
    tcase_add_test(replacing, another_effective_uid_is_a_reason_to_map_again);
    tcase_add_test(replacing, what_is_mapped_once_is_not_mapped_again);
    tcase_add_test(replacing, closing_one_of_two_states_on_a_region_leaves_the_other_one_its_own);
    tcase_add_test(replacing, more_replacements_than_are_noted_still_map);
    tcase_add_test(replacing, every_trouble_has_a_text);
    suite_add_tcase(suite, replacing);
    return fixture_run(suite);
}
