#include "suite.h"
#include "track/layer.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>

/* ---- calls, as far as layers know them ------------------------------------------------------------------------------ */

static unsigned ended, heard;
static struct call *last_ended;

void call_neutral(struct call *call)
{
    ended++;
    last_ended = call;
}

void call_heard(struct call *call)
{
    (void)call;
    heard++;
}

static void setup(void)
{
    ended = heard = 0;
    last_ended = NULL;
}

/* ---- functions that stand for hooks: their frames are what counts --------------------------------------------------- */

#define HOOK __attribute__((noinline, noclone))

static HOOK struct layer *socket_hook(void)
{
    return layer_current(__builtin_frame_address(0));
}

/* A hook of libcurl's: enters, lets `inner` run, leaves; returns what the layer was told. */
static HOOK struct layer_news curl_hook(struct call *call, void (*inner)(void))
{
    const void *frame = __builtin_frame_address(0);

    ck_assert(layer_enter(call, frame, NULL));
    inner();
    return layer_leave(frame);
}

static struct call outer_call, inner_call;
static jmp_buf out;

/* ---- what must be so ------------------------------------------------------------------------------------------------ */

START_TEST(outside_of_a_transfer_no_layer_is_in)
{
    ck_assert_ptr_null(socket_hook());
}
END_TEST

static void find_outer(void)
{
    struct layer *layer = socket_hook();

    ck_assert_ptr_nonnull(layer);
    ck_assert_ptr_eq(layer->call, &outer_call);
}

START_TEST(within_a_transfer_the_hooks_below_find_its_call)
{
    curl_hook(&outer_call, find_outer);
    ck_assert_ptr_null(socket_hook());
    ck_assert_uint_eq(ended, 0); /* its own hook ends it */
}
END_TEST

static void find_nobodys(void)
{
    struct layer *layer = socket_hook();

    ck_assert_ptr_nonnull(layer);
    ck_assert_ptr_null(layer->call);
    layer_heard(layer);
}

START_TEST(layer_of_no_call_is_in_all_the_same)
{
    ck_assert(curl_hook(NULL, find_nobodys).heard);
    ck_assert_ptr_null(socket_hook());
    ck_assert_uint_eq(heard, 0);
}
END_TEST

static void find_inner(void)
{
    struct layer *layer = socket_hook();

    ck_assert_ptr_nonnull(layer);
    ck_assert_ptr_eq(layer->call, &inner_call);
}

static void nest(void)
{
    curl_hook(&inner_call, find_inner);
    find_outer();
}

START_TEST(transfer_in_a_callback_of_a_transfer_is_a_layer_of_its_own)
{
    curl_hook(&outer_call, nest);
    ck_assert_ptr_null(socket_hook());
    ck_assert_uint_eq(ended, 0);
}
END_TEST

static void tell(void)
{
    struct layer *layer = socket_hook();

    layer_heard(layer);
    layer_failed(layer, ECONNREFUSED);
    layer_failed(layer, 0);
    layer_failed(layer, EINPROGRESS);
}

START_TEST(layer_hears_of_bytes_and_keeps_the_last_error)
{
    struct layer_news news = curl_hook(&outer_call, tell);

    ck_assert_int_eq(news.error, ECONNREFUSED);
    ck_assert(news.heard);
    ck_assert_uint_eq(heard, 1);
    news = curl_hook(&outer_call, find_outer);
    ck_assert_int_eq(news.error, 0);
    ck_assert(!news.heard);
}
END_TEST

/* ---- jumps over a hook ---------------------------------------------------------------------------------------------- */

static void jump(void)
{
    longjmp(out, 1);
}

static HOOK void jump_out_of_a_transfer(void)
{
    if (setjmp(out) == 0) {
        curl_hook(&outer_call, jump);
    }
}

START_TEST(longjmp_over_a_transfer_ends_it_neutral_at_the_next_hook)
{
    jump_out_of_a_transfer();
    ck_assert_uint_eq(ended, 0);

    ck_assert_ptr_null(socket_hook());
    ck_assert_uint_eq(ended, 1);
    ck_assert_ptr_eq(last_ended, &outer_call);

    ck_assert_ptr_null(socket_hook());
    ck_assert_uint_eq(ended, 1);
}
END_TEST

START_TEST(longjmp_over_a_transfer_does_not_disturb_the_next_one)
{
    jump_out_of_a_transfer();
    curl_hook(&inner_call, find_inner);
    ck_assert_uint_eq(ended, 1);
    ck_assert_ptr_eq(last_ended, &outer_call);
    ck_assert_ptr_null(socket_hook());
}
END_TEST

static HOOK void jump_out_of_the_inner_one(void)
{
    if (setjmp(out) == 0) {
        curl_hook(&inner_call, jump);
    }
    struct layer *layer = layer_current(__builtin_frame_address(0));

    ck_assert_ptr_nonnull(layer);
    ck_assert_ptr_eq(layer->call, &outer_call);
}

START_TEST(longjmp_over_an_inner_transfer_leaves_the_outer_one_in)
{
    curl_hook(&outer_call, jump_out_of_the_inner_one);
    ck_assert_uint_eq(ended, 1);
    ck_assert_ptr_eq(last_ended, &inner_call);
    ck_assert_ptr_null(socket_hook());
}
END_TEST

static void nest_and_jump(void)
{
    curl_hook(&inner_call, jump);
}

START_TEST(longjmp_over_both_ends_both)
{
    if (setjmp(out) == 0) {
        curl_hook(&outer_call, nest_and_jump);
    }
    ck_assert_ptr_null(socket_hook());
    ck_assert_uint_eq(ended, 2);
    ck_assert_ptr_eq(last_ended, &outer_call);
}
END_TEST

static void jump_in_the_inner_one_unnoticed(void)
{
    if (setjmp(out) == 0) {
        curl_hook(&inner_call, jump);
    }
}

START_TEST(leaving_takes_along_what_was_jumped_over_inside)
{
    curl_hook(&outer_call, jump_in_the_inner_one_unnoticed);
    ck_assert_uint_eq(ended, 1);
    ck_assert_ptr_eq(last_ended, &inner_call);
    ck_assert_ptr_null(socket_hook());
    ck_assert_uint_eq(ended, 1);
}
END_TEST

static HOOK void jump_and_begin_another(void)
{
    jump_out_of_a_transfer();
    outer_call.ticket.admitted++; /* the record is another transfer's by now */
}

START_TEST(record_that_was_used_again_is_not_ended_by_an_old_guard)
{
    jump_and_begin_another();
    ck_assert_ptr_null(socket_hook());
    ck_assert_uint_eq(ended, 0);
}
END_TEST

START_TEST(forgotten_call_is_not_ended_by_an_old_guard)
{
    jump_out_of_a_transfer();
    layer_forget(&outer_call);
    ck_assert_ptr_null(socket_hook());
    ck_assert_uint_eq(ended, 0);
}
END_TEST

START_TEST(layer_covers_what_its_library_does_and_nothing_else)
{
    static const struct real_range library = {1000, 2000};
    struct layer layer = {.library = &library};

    ck_assert(layer_covers(&layer, (const void *)1000));
    ck_assert(layer_covers(&layer, (const void *)1999));
    ck_assert(!layer_covers(&layer, (const void *)2000));
    ck_assert(!layer_covers(&layer, (const void *)999));
    layer.library = NULL;
    ck_assert(layer_covers(&layer, (const void *)999));
    layer.library = &(struct real_range){1000, 1000};
    ck_assert(layer_covers(&layer, (const void *)999));
}
END_TEST

static unsigned asked;

static int refuse_v6(struct layer *layer, const struct address *address)
{
    ck_assert_ptr_eq(layer->context, &asked);
    asked++;
    layer->call->ticket.admitted = 7;
    layer_decided(layer);
    return address->bytes[0] == 0xfd ? EHOSTUNREACH : 0;
}

static void ask(void)
{
    static const struct address four = {.bytes = {[10] = 0xff, [11] = 0xff, [12] = 10}}, six = {.bytes = {0xfd}};
    struct layer *layer = socket_hook();

    ck_assert_int_eq(layer_ask(layer, &four), 0);
    layer_defer(refuse_v6, &asked);
    ck_assert_int_eq(layer_ask(layer, &four), 0);
    ck_assert_int_eq(layer_ask(layer, &six), EHOSTUNREACH);
    layer_heard(layer);
}

START_TEST(layer_that_decides_late_is_asked_at_each_connect)
{
    curl_hook(&outer_call, ask);
    ck_assert_uint_eq(asked, 2);
    ck_assert_uint_eq(heard, 1); /* of the call that was admitted only then */
}
END_TEST

static int not_mine(struct layer *layer, const struct address *address)
{
    ck_assert_ptr_null(layer->call);
    ck_assert_ptr_null(address);
    return LAYER_BELOW;
}

static void ask_nobodys(void)
{
    struct layer *layer = socket_hook();

    ck_assert_int_eq(layer_ask(layer, NULL), 0);
    layer_defer(not_mine, NULL);
    ck_assert_int_eq(layer_ask(layer, NULL), LAYER_BELOW);
}

START_TEST(layer_of_no_call_lets_everything_connect_unless_it_says_otherwise)
{
    curl_hook(NULL, ask_nobodys);
}
END_TEST

/* ---- limits --------------------------------------------------------------------------------------------------------- */

static int depth;

static HOOK void dig(void)
{
    const void *frame = __builtin_frame_address(0);

    if (layer_enter(&outer_call, frame, NULL)) {
        depth++;
        dig();
        layer_leave(frame);
    }
}

START_TEST(too_many_layers_are_refused_and_leave_nothing_behind)
{
    dig();
    ck_assert_int_ge(depth, 2);
    ck_assert_int_le(depth, 8);
    ck_assert_ptr_null(socket_hook());
    ck_assert_uint_eq(ended, 0);
}
END_TEST

static void *look(void *unused)
{
    (void)unused;
    return socket_hook();
}

static void look_from_another_thread(void)
{
    pthread_t thread;
    void *found = &thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, look, NULL), 0);
    pthread_join(thread, &found);
    ck_assert_ptr_null(found);
}

START_TEST(layers_are_of_their_thread)
{
    curl_hook(&outer_call, look_from_another_thread);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        outside_of_a_transfer_no_layer_is_in,
        within_a_transfer_the_hooks_below_find_its_call,
        layer_of_no_call_is_in_all_the_same,
        transfer_in_a_callback_of_a_transfer_is_a_layer_of_its_own,
        layer_hears_of_bytes_and_keeps_the_last_error,
        longjmp_over_a_transfer_ends_it_neutral_at_the_next_hook,
        longjmp_over_a_transfer_does_not_disturb_the_next_one,
        longjmp_over_an_inner_transfer_leaves_the_outer_one_in,
        longjmp_over_both_ends_both,
        record_that_was_used_again_is_not_ended_by_an_old_guard,
        forgotten_call_is_not_ended_by_an_old_guard,
        layer_covers_what_its_library_does_and_nothing_else,
        layer_that_decides_late_is_asked_at_each_connect,
        layer_of_no_call_lets_everything_connect_unless_it_says_otherwise,
        leaving_takes_along_what_was_jumped_over_inside,
        too_many_layers_are_refused_and_leave_nothing_behind,
        layers_are_of_their_thread,
    };
    Suite *suite = suite_create("layer");
    TCase *tcase = tcase_create("layer");

    tcase_add_checked_fixture(tcase, setup, NULL);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
