/* SPDX-License-Identifier: MIT */
/* The notifications of the protocol table, for the page and for the types. */
#include "common/check.h"
#include "tools/gendoc/gendoc.h"

const struct note notes[] = {
#define NOTE(name, direction, doc) {name, direction, doc},
#include "common/proto.def"
};
const size_t note_count = NELEMS(notes);

const struct note_field note_fields[] = {
#define NOTEFIELD(note, name, type, doc) {note, name, type, doc},
#include "common/proto.def"
};
const size_t note_field_count = NELEMS(note_fields);
