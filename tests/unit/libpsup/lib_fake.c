/* SPDX-License-Identifier: MIT */
/* See lib_fake.h. */
#include "lib_fake.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void
fake_send(struct fake *f, const void *data, size_t size)
{
	const char *at = data;
	ssize_t n;

	while (size > 0) {
		n = send(f->conn, at, size, MSG_NOSIGNAL);
		if (n <= 0)
			return;
		at += n;
		size -= (size_t)n;
	}
}

/* Sends and frees a message. */
static void
send_enc(struct fake *f, struct enc *e)
{
	fake_send(f, e->buf, e->len);
	enc_fini(e);
}

void
fake_answer_text(struct fake *f, uint64_t id, const char *text)
{
	struct enc e = ENC_INIT;

	enc_array(&e);
	enc_uint(&e, 1);
	enc_uint(&e, id);
	enc_nil(&e);
	enc_map(&e);
	enc_kv_str(&e, "text", text);
	enc_key(&e, "details");
	enc_map(&e);
	enc_kv_str(&e, "status", "completed");
	enc_end(&e);
	enc_kv_bool(&e, "isError", false);
	enc_end(&e);
	enc_end(&e);
	send_enc(f, &e);
}

void
fake_answer_error(struct fake *f, uint64_t id, const char *code,
    const char *message, const char *field)
{
	struct enc e = ENC_INIT;

	enc_array(&e);
	enc_uint(&e, 1);
	enc_uint(&e, id);
	enc_map(&e);
	enc_kv_str(&e, "code", code);
	enc_kv_str(&e, "message", message);
	enc_kv_str(&e, "field", field);
	enc_end(&e);
	enc_nil(&e);
	enc_end(&e);
	send_enc(f, &e);
}

void
fake_note_output(struct fake *f, uint64_t id, uint64_t pos, const char *data)
{
	struct enc e = ENC_INIT;

	enc_array(&e);
	enc_uint(&e, 2);
	enc_str(&e, "output");
	enc_array(&e);
	enc_map(&e);
	enc_kv_uint(&e, "msgid", id);
	enc_kv_str(&e, "stream", "stdout");
	enc_kv_uint(&e, "pos", pos);
	enc_key(&e, "data");
	enc_bin(&e, data, strlen(data));
	enc_end(&e);
	enc_end(&e);
	enc_end(&e);
	send_enc(f, &e);
}

/* [1, id, nil, {text, incarnation}] */
static void
answer_hello(struct fake *f, uint64_t id)
{
	struct enc e = ENC_INIT;

	enc_array(&e);
	enc_uint(&e, 1);
	enc_uint(&e, id);
	enc_nil(&e);
	enc_map(&e);
	enc_kv_str(&e, "text", "welcome");
	if (f->incarnation != NULL)
		enc_kv_str(&e, "incarnation", f->incarnation);
	enc_end(&e);
	enc_end(&e);
	send_enc(f, &e);
}

/* One message from the client. False: hang up. */
static bool
handle(struct fake *f, const struct val *v)
{
	char method[40];

	if (v->type != VAL_ARRAY || v->a.count < 3)
		return false;
	if (v->a.items[0].u == 2) { /* a notification */
		snprintf(method, sizeof(method), "%.*s",
		    (int)v->a.items[1].s.len, v->a.items[1].s.ptr);
		return f->handler(f, 0, method, &v->a.items[2]);
	}
	snprintf(method, sizeof(method), "%.*s", (int)v->a.items[2].s.len,
	    v->a.items[2].s.ptr);
	if (strcmp(method, "hello") == 0) {
		f->hellos++;
		if (f->hangs_up > 0 && f->hangs_up-- > 0)
			return false;
		if (f->busy > 0 && f->busy-- > 0)
			fake_answer_error(f, v->a.items[1].u, "busy",
			    "out of memory", "");
		else if (!f->mute)
			answer_hello(f, v->a.items[1].u);
		return f->ends_after_hello == 0 || f->ends_after_hello-- == 0;
	}
	return f->handler(f, v->a.items[1].u, method, &v->a.items[3]);
}

/* One connection, to its end. */
static void
serve(struct fake *f)
{
	static char buf[8 << 20];
	struct codec_arena *arena;
	const struct val *v;
	size_t len = 0, used;
	char why[160];
	bool go_on = true;
	ssize_t n;

	while (go_on) {
		n = recv(f->conn, buf + len, sizeof(buf) - len, 0);
		if (n <= 0)
			return;
		len += (size_t)n;
		while (go_on && len > 0 &&
		    codec_decode(buf, len, &codec_limits_default, &used, &arena,
		        &v, why, sizeof(why)) == CODEC_OK) {
			go_on = handle(f, v);
			codec_arena_free(&arena);
			len -= used;
			memmove(buf, buf + used, len);
		}
	}
}

/* The thread. */
static void *
run(void *arg)
{
	struct fake *f = arg;
	int fd;

	while ((fd = accept(f->listener, NULL, NULL)) >= 0) {
		f->conn = fd;
		f->connections++;
		serve(f);
		f->conn = -1;
		close(fd);
	}
	return NULL;
}

void
fake_start(struct fake *f, fake_handler *handler)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	*f = (struct fake){.conn = -1, .handler = handler};
	snprintf(f->dir, sizeof(f->dir), "/dev/shm/psup-test-XXXXXX");
	cr_assert_not_null(mkdtemp(f->dir));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/sock", f->dir);
	f->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_geq(f->listener, 0);
	cr_assert_eq(bind(f->listener, (struct sockaddr *)&address,
	                 sizeof(address)),
	    0);
	cr_assert_eq(listen(f->listener, 8), 0);
	cr_assert_eq(pthread_create(&f->thread, NULL, run, f), 0);
}

void
fake_stop(struct fake *f)
{
	char path[80];

	shutdown(f->listener, SHUT_RDWR);
	if (f->conn >= 0)
		shutdown(f->conn, SHUT_RDWR);
	pthread_join(f->thread, NULL);
	close(f->listener);
	snprintf(path, sizeof(path), "%s/sock", f->dir);
	unlink(path);
	rmdir(f->dir);
}

psup *
fake_connect(struct fake *f)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup *p;

	o.runtime_dir = f->dir;
	cr_assert_eq(psup_new(&p), PSUP_OK);
	cr_assert_eq(psup_connect(p, &o), PSUP_OK, "%s", psup_error_message(p));
	return p;
}
