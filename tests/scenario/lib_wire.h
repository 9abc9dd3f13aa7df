/* SPDX-License-Identifier: MIT */
/* A connection without libpsup: the very bytes of each answer. */
#ifndef PSUP_TEST_LIB_WIRE_H
#define PSUP_TEST_LIB_WIRE_H

#include "common/codec.h"
#include "lib_scn.h"

struct wire {
	int fd;
	size_t len;
	char buf[1 << 19];
};

struct wire *wire_open(void);
/* The same of another user, a member of the group of that number, whose
 * psup.conf names it. Root only. */
#define WIRE_GUEST 65534 /* nobody, and nogroup */
struct wire *wire_open_as_guest(void);
void wire_close(struct wire *w);
/* Appends [0, id, method, params]. */
void wire_request(struct enc *e, uint32_t id, const char *method,
    const struct enc *params);
void wire_put(struct wire *w, const struct enc *e);
/* Both at once, as number 7. */
void wire_send(struct wire *w, const char *method, const struct enc *params);
/* The next answer, as it came; its length, 0 at the end. */
size_t wire_answer(struct wire *w, char *ret, size_t size);
/* Each of the methods, without a parameter, is forbidden to it. */
void wire_expect_forbidden(struct wire *w, const char *const *methods,
    size_t count);
/* Says hello; is it refused with the connection closed behind it? */
bool wire_hello(struct wire *w, const char *scope, const char *token);

#endif
