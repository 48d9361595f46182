#include "suite.h"
#include "track/curl/members.h"
#include "track/process.h"

#include <check.h>

/* ---- calls and forks, as far as the table of handles knows them ----------------------------------------------------- */

void call_neutral(struct call *call)
{
    call->provider = NULL;
}

uint32_t process_forks(void)
{
    return 0;
}

bool process_confined(void)
{
    return false;
}

static struct curl_api api;

/* Handles are only addresses here. */
static CURL *easy(size_t number)
{
    return (CURL *)(uintptr_t)(0x555500001000 + number * 0x1500);
}

static CURLM *multi(size_t number)
{
    return (CURLM *)(uintptr_t)(0x555600002000 + number * 0x230);
}

static CURLMsg messages[8];
static struct curl_multi *one;
static struct curl_handle *handles[8];

static void setup(void)
{
    one = curl_multi_add(multi(0), &api);
    for (size_t i = 0; i < 8; i++) {
        handles[i] = curl_handle_add(easy(i), &api);
    }
}

/* The members of a multi handle as digits, from the first on. */
static const char *ring(const struct curl_multi *of)
{
    static char text[16];
    size_t length = 0;
    const struct curl_handle *member = curl_handle_at(of->first);

    for (; length < of->members && length < sizeof text - 1; member = curl_member_next(member)) {
        for (size_t i = 0; i < 8; i++) {
            if (handles[i] == member) {
                text[length++] = (char)('0' + i);
            }
        }
    }
    text[length] = '\0';
    return text;
}

/* ---- what must be so ------------------------------------------------------------------------------------------------ */

START_TEST(multi_handle_is_found_until_it_is_removed)
{
    ck_assert_ptr_eq(curl_multi_find(multi(0)), one);
    ck_assert_ptr_eq(curl_multi_handle(one), multi(0));
    ck_assert_ptr_null(curl_multi_find(multi(1)));
    ck_assert_ptr_null(curl_multi_find(NULL));
    curl_multi_remove(multi(0));
    ck_assert_ptr_null(curl_multi_find(multi(0)));
    curl_multi_remove(multi(0));
    curl_multi_remove(NULL);
}
END_TEST

START_TEST(full_table_knows_no_more_and_forgets_none)
{
    size_t known = 0;

    for (size_t i = 1; i < (size_t)2 * CURL_MULTIS; i++) {
        struct curl_multi *added = curl_multi_add(multi(i), &api);

        if (added != NULL) {
            added->error = (int)i;
            known++;
        }
    }
    ck_assert_uint_gt(known, CURL_MULTIS / 2);
    ck_assert_uint_lt(known, CURL_MULTIS);
    for (size_t i = 1; i < (size_t)2 * CURL_MULTIS; i++) {
        const struct curl_multi *found = curl_multi_find(multi(i));

        ck_assert(found == NULL || found->error == (int)i);
    }
}
END_TEST

START_TEST(handle_knows_its_number_and_address)
{
    for (size_t i = 0; i < 8; i++) {
        ck_assert_ptr_eq(curl_handle_at(curl_handle_number(handles[i])), handles[i]);
        ck_assert_ptr_eq(curl_handle_easy(handles[i]), easy(i));
    }
    ck_assert_ptr_null(curl_handle_at(0));
    ck_assert_ptr_null(curl_handle_at(CURL_HANDLES + 1));
    ck_assert_ptr_null(curl_handle_at(UINT16_MAX));
}
END_TEST

START_TEST(members_stand_in_a_ring_in_the_order_of_their_joining)
{
    ck_assert_str_eq(ring(one), "");
    for (size_t i = 0; i < 5; i++) {
        curl_member_join(handles[i], one, CURL_PART_CALL);
    }
    ck_assert_str_eq(ring(one), "01234");
    curl_member_leave(handles[2]);
    ck_assert_str_eq(ring(one), "0134");
    curl_member_leave(handles[0]);
    ck_assert_str_eq(ring(one), "134");
    curl_member_leave(handles[4]);
    curl_member_join(handles[0], one, CURL_PART_CALL);
    ck_assert_str_eq(ring(one), "130");
    curl_member_leave(handles[0]);
    curl_member_leave(handles[3]);
    curl_member_leave(handles[1]);
    ck_assert_str_eq(ring(one), "");
    ck_assert_uint_eq(one->first, 0);
    curl_member_leave(handles[1]); /* is in none: nothing happens */
    ck_assert_ptr_null(handles[1]->member.multi);
}
END_TEST

START_TEST(counts_follow_what_becomes_of_members)
{
    curl_member_join(handles[0], one, CURL_PART_CALL);
    curl_member_join(handles[1], one, CURL_PART_CALL);
    curl_member_join(handles[2], one, CURL_PART_BELOW);
    curl_member_join(handles[3], one, CURL_PART_REFUSED);
    ck_assert_uint_eq(one->members, 4);
    ck_assert_uint_eq(one->calls, 2);
    ck_assert_uint_eq(one->waiting, 2);
    ck_assert_uint_eq(one->below, 1);

    curl_member_started(handles[0]);
    curl_member_started(handles[0]);
    ck_assert_uint_eq(one->waiting, 1);
    for (size_t i = 0; i < 4; i++) { /* twice is once */
        curl_member_over(handles[i]);
        curl_member_over(handles[i]);
    }
    ck_assert_uint_eq(one->members, 4);
    ck_assert_uint_eq(one->calls + one->waiting + one->below, 0);
    for (size_t i = 0; i < 4; i++) {
        curl_member_leave(handles[i]);
    }
    ck_assert_uint_eq(one->members, 0);
    curl_member_over(handles[0]);
    ck_assert_uint_eq(one->calls, 0);
}
END_TEST

START_TEST(kept_messages_come_in_their_order_and_go_with_their_transfers)
{
    for (size_t i = 0; i < 5; i++) {
        curl_member_join(handles[i], one, CURL_PART_CALL);
    }
    ck_assert_ptr_null(curl_member_message(one));
    for (size_t i = 0; i < 5; i++) {
        curl_member_keep(handles[i], &messages[i]);
    }
    ck_assert_int_eq(curl_member_messages(one), 5);
    curl_member_leave(handles[0]);
    curl_member_leave(handles[2]);
    curl_member_leave(handles[4]);
    ck_assert_int_eq(curl_member_messages(one), 2);
    ck_assert_ptr_eq(curl_member_message(one), &messages[1]);

    curl_member_join(handles[0], one, CURL_PART_CALL);
    curl_member_keep(handles[0], &messages[0]);
    ck_assert_ptr_eq(curl_member_message(one), &messages[3]);
    ck_assert_ptr_eq(curl_member_message(one), &messages[0]);
    ck_assert_ptr_null(curl_member_message(one));
    ck_assert_int_eq(curl_member_messages(one), 0);

    curl_member_keep(handles[3], &messages[3]); /* the queue is sound after it was empty */
    ck_assert_ptr_eq(curl_member_message(one), &messages[3]);
}
END_TEST

START_TEST(members_leave_a_multi_handle_that_goes_and_a_handle_that_goes_leaves_its_multi)
{
    curl_member_join(handles[0], one, CURL_PART_CALL);
    curl_member_join(handles[1], one, CURL_PART_CALL);
    curl_member_keep(handles[0], &messages[0]);
    curl_handle_remove(easy(0));
    ck_assert_str_eq(ring(one), "1");
    ck_assert_ptr_null(curl_member_message(one));
    curl_multi_remove(multi(0));
    ck_assert_ptr_null(handles[1]->member.multi);

    /* freed unseen, and another one of its address made */
    one = curl_multi_add(multi(0), &api);
    curl_member_join(handles[1], one, CURL_PART_BELOW);
    one = curl_multi_add(multi(0), &api);
    ck_assert_uint_eq(one->members + one->below, 0);
    ck_assert_ptr_null(handles[1]->member.multi);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        multi_handle_is_found_until_it_is_removed,
        full_table_knows_no_more_and_forgets_none,
        handle_knows_its_number_and_address,
        members_stand_in_a_ring_in_the_order_of_their_joining,
        counts_follow_what_becomes_of_members,
        kept_messages_come_in_their_order_and_go_with_their_transfers,
        members_leave_a_multi_handle_that_goes_and_a_handle_that_goes_leaves_its_multi,
    };
    Suite *suite = suite_create("curl members");
    TCase *tcase = tcase_create("curl members");

    tcase_add_checked_fixture(tcase, setup, NULL);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
