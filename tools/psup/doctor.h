/* SPDX-License-Identifier: MIT */
/*
 * psup doctor: what a system must give for psup to run well, a row of a table
 * each: name, probe, and in what it found the verdict and the remedy. Probes
 * read files below `root` and ask through `calls`, so that tests can show them
 * any system. Nothing is changed, no server is needed and none is started.
 */
#ifndef PSUP_DOCTOR_H
#define PSUP_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/types.h>

#define DOCTOR_PATH 1024

enum doctor_verdict {
	DOCTOR_OK,
	DOCTOR_NOTE,    /* worth knowing */
	DOCTOR_WARNING, /* it will hurt one day */
	DOCTOR_PROBLEM, /* psup does not work, or loses something */
	DOCTOR_VERDICTS
};

/* What the kernel can do; each 0 or -errno. */
struct doctor_kernel {
	int pidfd, clone3, close_range, tty_splice;
	char release[80];
};

/* How a server is: filled by whoever can ask it. */
struct doctor_server {
	bool runs;           /* somebody answers */
	bool other_version;  /* its shared memory is of another layout */
	char version[32];    /* "": not known */
	char said[200];      /* why nobody answers */
	char sandbox[256];   /* why the boxes that it is to make cannot be */
};

struct doctor_calls {
	int (*statfs)(const char *path, struct statfs *ret);
	int (*getrlimit)(__rlimit_resource_t which, struct rlimit *ret);
	void (*kernel)(struct doctor_kernel *ret);
	void (*server)(void *arg, struct doctor_server *ret);
	void *arg; /* of server */
};
extern const struct doctor_calls doctor_real_calls; /* but for server */

struct doctor {
	const char *root;        /* "": this system */
	const char *runtime_dir; /* absolute */
	const char *version;     /* ours */
	const char *user;        /* our name; "": none */
	const char *groups;      /* of ours, those that open a machine; NULL */
	uid_t uid;
	const struct doctor_calls *calls;
};

struct finding {
	enum doctor_verdict verdict;
	char found[400];
	char remedy[500]; /* "" where all is well */
};

struct doctor_check {
	const char *name;
	void (*probe)(const struct doctor *d, struct finding *f);
};
/* Parts of the table; a NULL name ends each. */
extern const struct doctor_check doctor_memory_checks[],
    doctor_limit_checks[], doctor_cgroup_checks[], doctor_systemd_checks[],
    doctor_server_checks[], doctor_sandbox_checks[];
extern const struct doctor_check *const doctor_parts[]; /* NULL at end */

/* The check of that name; NULL. */
const struct doctor_check *doctor_find(const char *name);
/* One look. */
void doctor_look(const struct doctor *d, const struct doctor_check *check,
    struct finding *ret);
const char *doctor_verdict_name(enum doctor_verdict v);

/* ---------------------------------------------------------- for the probes */

void finding_set(struct finding *f, enum doctor_verdict v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void finding_remedy(struct finding *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* root and path in one. */
void doctor_path(const struct doctor *d, char ret[DOCTOR_PATH],
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool doctor_exists(const struct doctor *d, const char *path);
/* The beginning of a file below root, NUL-terminated; false: it cannot be
 * read. */
bool doctor_read(const struct doctor *d, const char *path, char *ret,
    size_t size);
/* The number a file holds; `dflt` where there is none ("max", too). */
long long doctor_number(const struct doctor *d, const char *path,
    long long dflt);
/* "64.0 MiB" */
void doctor_bytes(unsigned long long n, char *ret, size_t size);

/* Our own group in the hierarchy with that controller ("": version 2), as a
 * path below root; false: there is none, or it is out of sight. */
bool doctor_cgroup(const struct doctor *d, const char *controller,
    char ret[DOCTOR_PATH]);
/* The least of a bound that our group and those above it have: {controller, file}
 * in either hierarchy; -1: none. */
long long doctor_cgroup_least(const struct doctor *d,
    const char *const files[2][2]);

#endif
