/*
 * TLS: pieces of one byte direction (bit 0: the server's), two bytes length, and as many bytes, as the seeds were
 * captured. Whatever they are, they mean the same whole and byte by byte, and a name is one.
 */
#include "protocol/tls.h"

#include <stdlib.h>
#include <string.h>

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_hello(const struct tls_hello *hello)
{
    size_t length = strnlen(hello->name, sizeof hello->name);

    must(!(hello->done && hello->opaque));
    must(length < sizeof hello->name);
    if (hello->opaque) {
        must(length == 0);
    }
    for (size_t i = 0; hello->done && i < length; i++) {
        must(strchr("abcdefghijklmnopqrstuvwxyz0123456789._-", hello->name[i]) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tls_hello hello, hello_bytewise;
    struct tls_records records, records_bytewise;

    tls_hello_begin(&hello);
    tls_hello_begin(&hello_bytewise);
    tls_records_begin(&records);
    tls_records_begin(&records_bytewise);
    while (size > 3) {
        bool from_client = (data[0] & 1) == 0;
        size_t length = (size_t)(data[1] << 8 | data[2]);
        unsigned bytewise = records.strange ? TLS_STRANGE : TLS_NOTHING;

        length = length < size - 3 ? length : size - 3;
        if (length == 0) {
            bytewise = TLS_NOTHING;
        }
        for (size_t i = 0; i < length; i++) {
            bytewise |= tls_records_feed(&records_bytewise, from_client, data + 3 + i, 1);
            if (from_client) {
                tls_hello_feed(&hello_bytewise, data + 3 + i, 1);
            }
        }
        unsigned whole = length > 0 ? tls_records_feed(&records, from_client, data + 3, length) : TLS_NOTHING;

        must(whole == bytewise);
        if (from_client) {
            tls_hello_feed(&hello, data + 3, length);
        }
        data += 3 + length;
        size -= 3 + length;
    }
    must(memcmp(&records, &records_bytewise, sizeof records) == 0);
    must(memcmp(&hello, &hello_bytewise, sizeof hello) == 0);
    check_hello(&hello);
    must(tls_h2(&hello, &records) == tls_h2(&hello_bytewise, &records_bytewise));
    return 0;
}
