/*
 * Where everything in the region stands, in numbers: the same for every compiler and word size, or this does not
 * compile. A change here is a new PREBREAK_REGION_VERSION; header and holds may not even change then.
 */
#ifndef REGION_LAYOUT_H
#define REGION_LAYOUT_H

#include <prebreak/region.h>
#include <stddef.h>

#define STANDS_AT(type, field, at) _Static_assert(offsetof(struct type, field) == (at), #type "." #field)
#define IS_LONG(type, bytes)       _Static_assert(sizeof(struct type) == (bytes), #type)

/* ---- for good --------------------------------------------------------------------------------------------------- */

STANDS_AT(prebreak_header, magic, 0);
STANDS_AT(prebreak_header, version, 8);
STANDS_AT(prebreak_header, size, 16);
STANDS_AT(prebreak_header, slots, 24);
STANDS_AT(prebreak_header, boot, 32);
STANDS_AT(prebreak_header, time_ns, 40);
STANDS_AT(prebreak_header, seed, 48);
STANDS_AT(prebreak_header, created, 56);
STANDS_AT(prebreak_header, mode, 64);
STANDS_AT(prebreak_header, retired, 72);
STANDS_AT(prebreak_header, holds, 80);
IS_LONG(prebreak_header, 256);
STANDS_AT(prebreak_hold, state, 0);
STANDS_AT(prebreak_hold, until, 8);
STANDS_AT(prebreak_hold, name, 16);
IS_LONG(prebreak_hold, 336);
STANDS_AT(prebreak_region, header, 0);
STANDS_AT(prebreak_region, hold, 256);
_Static_assert(PREBREAK_HOLDS == 64 && PREBREAK_NAME == 320, "holds");

/* ---- version 2 -------------------------------------------------------------------------------------------------- */

_Static_assert(PREBREAK_REGION_VERSION == 2, "the numbers below are of version 2");
STANDS_AT(prebreak_region, process, 21760);
STANDS_AT(prebreak_region, event, 87296);
STANDS_AT(prebreak_region, inflight, 220416);
STANDS_AT(prebreak_region, identity, 351488);
STANDS_AT(prebreak_region, slot, 359680);
IS_LONG(prebreak_process, 16);
IS_LONG(prebreak_event, 520);
IS_LONG(prebreak_settings, 160);
IS_LONG(prebreak_totals, 192);
IS_LONG(prebreak_breaker, 3136);
IS_LONG(prebreak_slot, 3712);
STANDS_AT(prebreak_event, comm, 80);
STANDS_AT(prebreak_event, name, 96);
STANDS_AT(prebreak_event, text, 416);
STANDS_AT(prebreak_settings, window, 8);
STANDS_AT(prebreak_settings, min, 56);
STANDS_AT(prebreak_settings, probe_min, 88);
STANDS_AT(prebreak_settings, pause_max, 144);
STANDS_AT(prebreak_settings, stall, 152);
STANDS_AT(prebreak_slot, name, 64);
STANDS_AT(prebreak_slot, settings, 384);
STANDS_AT(prebreak_slot, breaker, 576);
STANDS_AT(prebreak_breaker, first_byte_us, 136);
STANDS_AT(prebreak_breaker, recent, 160);
STANDS_AT(prebreak_breaker, transitions, 256);
STANDS_AT(prebreak_totals, slow, 136);
STANDS_AT(prebreak_breaker, histogram, 648);
STANDS_AT(prebreak_breaker, window, 832);
STANDS_AT(prebreak_breaker, totals, 2368);

#undef STANDS_AT
#undef IS_LONG

#endif
