#include "protocol/hpack_inner.h"

#include <string.h>

/* ---- the static table (RFC 7541 appendix A) --------------------------------------------------------------------------- */

/* Of the names that nobody would ask for, the length is all that matters. */
static const struct row {
    const char *name, *value;
} rows[HPACK_ROWS] = {
    {"", ""},
    {":authority", ""},
    {":method", "GET"},
    {":method", "POST"},
    {":path", "/"},
    {":path", "/index.html"},
    {":scheme", "http"},
    {":scheme", "https"},
    {":status", "200"},
    {":status", "204"},
    {":status", "206"},
    {":status", "304"},
    {":status", "400"},
    {":status", "404"},
    {":status", "500"},
    {"accept-charset", ""},
    {"accept-encoding", "gzip, deflate"},
    {"accept-language", ""},
    {"accept-ranges", ""},
    {"accept", ""},
    {"access-control-allow-origin", ""},
    {"age", ""},
    {"allow", ""},
    {"authorization", ""},
    {"cache-control", ""},
    {"content-disposition", ""},
    {"content-encoding", ""},
    {"content-language", ""},
    {"content-length", ""},
    {"content-location", ""},
    {"content-range", ""},
    {"content-type", ""},
    {"cookie", ""},
    {"date", ""},
    {"etag", ""},
    {"expect", ""},
    {"expires", ""},
    {"from", ""},
    {"host", ""},
    {"if-match", ""},
    {"if-modified-since", ""},
    {"if-none-match", ""},
    {"if-range", ""},
    {"if-unmodified-since", ""},
    {"last-modified", ""},
    {"link", ""},
    {"location", ""},
    {"max-forwards", ""},
    {"proxy-authenticate", ""},
    {"proxy-authorization", ""},
    {"range", ""},
    {"referer", ""},
    {"refresh", ""},
    {"retry-after", ""},
    {"server", ""},
    {"set-cookie", ""},
    {"strict-transport-security", ""},
    {"transfer-encoding", ""},
    {"user-agent", ""},
    {"vary", ""},
    {"via", ""},
    {"www-authenticate", ""},
};

/* ---- the dynamic table -------------------------------------------------------------------------------------------- */

/* The entry at an index of both tables; NULL: there is none. */
static const struct hpack_entry *entry_at(const struct hpack *hpack, uint32_t index)
{
    uint32_t age = index - HPACK_ROWS;

    return index >= HPACK_ROWS && age < hpack->count
               ? &hpack->entries[(hpack->newest + HPACK_ENTRIES - age) % HPACK_ENTRIES]
               : NULL;
}

static uint16_t kept(const struct hpack_entry *entry)
{
    return entry->length == HPACK_CUT ? 0 : entry->length;
}

static void evict(struct hpack *hpack)
{
    const struct hpack_entry *oldest = entry_at(hpack, HPACK_ROWS + hpack->count - 1u);

    hpack->size -= oldest->size;
    hpack->text_used -= kept(oldest);
    hpack->count--;
}

static void make_room(struct hpack *hpack, uint32_t most)
{
    while (hpack->size > most) {
        evict(hpack);
    }
}

void hpack_table_resize(struct hpack *hpack, uint32_t capacity)
{
    hpack->capacity = capacity;
    make_room(hpack, capacity);
}

/* Its value, copied into the ring of texts. */
static void keep(struct hpack *hpack, struct hpack_entry *entry)
{
    entry->at = hpack->text_end;
    for (uint16_t i = 0; i < kept(entry); i++) {
        hpack->texts[(entry->at + i) % HPACK_TEXTS] = hpack->value[i];
    }
    hpack->text_end = (uint16_t)((entry->at + kept(entry)) % HPACK_TEXTS);
    hpack->text_used += kept(entry);
}

bool hpack_table_insert(struct hpack *hpack)
{
    uint64_t size = UINT64_C(32) + hpack->name_length + hpack->value_length;

    if (size > hpack->capacity) { /* that is no error: it empties the table (RFC 7541 section 4.4) */
        make_room(hpack, 0);
        return true;
    }
    make_room(hpack, hpack->capacity - (uint32_t)size);
    struct hpack_entry entry = {
        .size = (uint32_t)size, .name_length = hpack->name_length, .field = hpack->field, .length = hpack->length};

    if (entry.field == 0) {
        entry.length = 0;
    }
    if (hpack->count == HPACK_ENTRIES || hpack->text_used + kept(&entry) > HPACK_TEXTS) {
        return false;
    }
    keep(hpack, &entry);
    hpack->newest = (uint16_t)((hpack->newest + 1) % HPACK_ENTRIES);
    hpack->entries[hpack->newest] = entry;
    hpack->count++;
    hpack->size += entry.size;
    return true;
}

/* ---- both --------------------------------------------------------------------------------------------------------- */

bool hpack_table_name(struct hpack *hpack, uint32_t index)
{
    const struct hpack_entry *entry = entry_at(hpack, index);

    if (entry != NULL) {
        hpack->name_length = entry->name_length;
        hpack->field = entry->field;
        return true;
    }
    if (index == 0 || index >= HPACK_ROWS) {
        return false;
    }
    hpack->name_length = (uint32_t)strlen(rows[index].name);
    if (hpack->rows[index] == HPACK_UNASKED) {
        hpack->rows[index] = hpack->ask(rows[index].name, hpack->name_length);
    }
    hpack->field = hpack->rows[index];
    return true;
}

void hpack_table_value(struct hpack *hpack, uint32_t index)
{
    const struct hpack_entry *entry = entry_at(hpack, index);

    if (entry == NULL) {
        hpack->length = (uint16_t)strlen(rows[index].value);
        memcpy(hpack->value, rows[index].value, hpack->length);
        return;
    }
    hpack->length = entry->length;
    for (uint16_t i = 0; i < kept(entry); i++) {
        hpack->value[i] = hpack->texts[(entry->at + i) % HPACK_TEXTS];
    }
}
