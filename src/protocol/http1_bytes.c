/*
 * See http1_inner.h: what a byte may be part of.
 */
#include "protocol/http1_inner.h"

#define T   HTTP1_C_TARGET                                  /* part of a target only */
#define M   (HTTP1_C_TARGET | HTTP1_C_TOKEN)                /* a mark of tokens */
#define H   (HTTP1_C_TARGET | HTTP1_C_TOKEN | HTTP1_C_HOST) /* letters, digits, . - _ */
#define T16 T, T, T, T, T, T, T, T, T, T, T, T, T, T, T, T
#define H10 H, H, H, H, H, H, H, H, H, H
#define H26 H10, H10, H, H, H, H, H, H

/* clang-format off */
const uint8_t http1_classes[256] = {
    [' ' + 1] = M, T, M, M, M, M, M, T, T, M, M, T, H, H, T, /* !"#$%&'()*+,-./ */
    H10, T, T, T, T, T, T, T,                                /* 0-9 :;<=>?@ */
    H26, T, T, T, M, H, M,                                   /* A-Z [\]^_` */
    H26, T, M, T, M, 0,                                      /* a-z {|}~ and DEL */
    T16, T16, T16, T16, T16, T16, T16, T16
};
/* clang-format on */
