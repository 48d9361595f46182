/*
 * What the parts of the HPACK decoder share: hpack.c reads the fields of a block, hpack_table.c keeps the tables.
 */
#ifndef PROTOCOL_HPACK_INNER_H
#define PROTOCOL_HPACK_INNER_H

#include "protocol/hpack.h"

/* The field at this index of both tables: its name, for `name_length` and `field`. False: there is none. */
bool hpack_table_name(struct hpack *hpack, uint32_t index);
/* And its value, into `value` and `length`, if the field is of interest. */
void hpack_table_value(struct hpack *hpack, uint32_t index);
/* The field that was read is put into the table. False: there is no room for what has to be kept. */
bool hpack_table_insert(struct hpack *hpack);
/* The table is given this size; what does not fit leaves it. */
void hpack_table_resize(struct hpack *hpack, uint32_t capacity);

#endif
