/* SPDX-License-Identifier: MIT */
/* Values of the index as msgpack, with a schema version `v` where they are maps. */
#include "supervisor/store/kept.h"

#include <errno.h>

#include "common/abi.h"

void
kept_map(struct enc *e)
{
	enc_map(e);
	enc_kv_uint(e, "v", abi_table[ABI_INDEX].version);
}

int
kept_put_of(struct index *ix, enum index_db db, struct index_bytes key,
    const struct enc *e, bool last)
{
	struct index_bytes val = {e->buf, e->len};

	return e->failed ? -ENOMEM
	    : (last ? index_put_last : index_put)(ix, db, key, val);
}

int
kept_put(struct index *ix, enum index_db db, struct index_bytes key,
    struct enc *e, bool last)
{
	int r = kept_put_of(ix, db, key, e, last);

	enc_fini(e);
	return r;
}

int
kept_value(struct index_bytes val, struct codec_arena **ret_arena,
    const struct val **ret)
{
	char why[64];
	size_t used;
	enum codec_error err = codec_decode(val.data, val.size,
	    &codec_limits_trusted, &used, ret_arena, ret, why, sizeof(why));

	return err == CODEC_OK ? 0 : err == CODEC_NOMEM ? -ENOMEM : -EBADMSG;
}

int
kept_read(struct index_bytes val, struct codec_arena **ret_arena,
    const struct val **ret)
{
	int r = kept_value(val, ret_arena, ret);

	if (r < 0 || abi_record_ok(val_uint(*ret, "v", 0)))
		return r;
	codec_arena_free(ret_arena);
	return -EBADMSG;
}
