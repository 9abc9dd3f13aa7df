/* SPDX-License-Identifier: MIT */
/*
 * The sections [sandbox] and [elevated] of psup.conf: which scopes have their
 * commands in a box, what a box is made of, and who may leave it.
 *
 * A reload: mode, scopes and [elevated] hold for the next call. What a box is
 * made of holds for boxes made from then on; one that is there and would now be
 * made in another way (config_sandbox_sum()) takes nobody in any more, and
 * those inside end by themselves.
 */
#ifndef PSUP_CONFIG_SANDBOX_H
#define PSUP_CONFIG_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/box_bind.h"

/* Bytes of each reason of config_options.h, and of config_check_sandbox(). */
#define CONFIG_WHY 500

struct config;

enum config_sandbox_mode {
	CONFIG_SANDBOX_OFF,
	CONFIG_SANDBOX_ALL,
	CONFIG_SANDBOX_NAMED,  /* scopes that say sandbox = yes or required */
	CONFIG_SANDBOX_UNKNOWN /* no word of the file: the file was refused, and
				* it may have said something else than off */
};
enum config_box_of { CONFIG_BOX_AGENT, CONFIG_BOX_SESSION, CONFIG_BOX_SHARED };
enum config_access { CONFIG_ACCESS_NONE, CONFIG_ACCESS_RO, CONFIG_ACCESS_RW };
enum config_network { CONFIG_NETWORK_NONE, CONFIG_NETWORK_HOST };
enum config_backend { CONFIG_BACKEND_BWRAP, CONFIG_BACKEND_CONTAINER };
enum config_engine { CONFIG_ENGINE_DOCKER, CONFIG_ENGINE_PODMAN };
enum config_ask { CONFIG_ASK_POLICY, CONFIG_ASK_ON_MISS, CONFIG_ASK_ALWAYS };
/* Of [scope "x"] */
enum config_scope_box {
	CONFIG_SCOPE_BOX_UNSAID,
	CONFIG_SCOPE_BOX_NO,
	CONFIG_SCOPE_BOX_YES,
	CONFIG_SCOPE_BOX_REQUIRED /* yes, and elevated never */
};

#define CONFIG_BOX_BINDS_BYTES 16384
#define CONFIG_DIRECTORY       1024
#define BOX_AGENT	       "/agent" /* a directory in a box, read-only */

struct config_sandbox {
	uint64_t mode;	  /* enum config_sandbox_mode */
	uint64_t scope;	  /* enum config_box_of: who shares a box */
	uint64_t access;  /* enum config_access: of `directory` */
	uint64_t network; /* enum config_network */
	uint64_t backend; /* enum config_backend */
	uint64_t engine;  /* enum config_engine, of a container */
	bool allow_host_network;
	char user[33]; /* whom the box runs as where the server is root */
	char workspace[CONFIG_DIRECTORY];   /* a directory in it for each box */
	/* of scopes that have none of their own, "": none; where this is what one
	 * box was made of, of its scope */
	char directory[CONFIG_DIRECTORY];
	char binds[CONFIG_BOX_BINDS_BYTES]; /* HOST:INSIDE:ro, a line each */
	char env[4096];			    /* NAME=value, a line each */
	char setup[4096]; /* a command line of the shell; "": none */
	uint64_t setup_sec; /* how long that may take: 600 */
	char container[129];
	uint64_t memory; /* of a box: 1 GiB; 0: no bound */
	uint64_t pids;	 /* of a box: 256 */
	uint64_t cpus;	 /* hundredths of one: 100; 0: no bound */
	uint64_t idle_min, max_age_min; /* 1 440, 10 080; 0: never */
	/* Of `user`, or the server's own: config_sandbox_resolve() */
	uint32_t uid, gid;
};

struct config_elevated {
	bool enabled;
	char scopes[4096]; /* names, a line each */
	uint64_t ask;	   /* enum config_ask */
};

/* The next of a text of lines: it is copied, and *at goes behind it. False at
 * the end; one that does not fit is passed over. */
bool config_next_line(const char **at, char *ret, size_t size);
/* The bind in one line of `binds`: what was checked when it was read. */
bool config_next_bind(const char **at, struct box_bind *ret);

/* A directory that a scope's section names. */
struct config_directory {
	char scope[48], path[CONFIG_DIRECTORY];
};
bool config_next_directory(const char **at, struct config_directory *ret);
/* The directory of a box of that scope, which it shows as `access` says. False:
 * it is to show one, and none is named. */
bool config_directory(const struct config *c, const char *scope,
    char ret[CONFIG_DIRECTORY]);

/* Is this scope ("": no scope) covered by mode? And what it says itself. */
bool config_sandbox_covers(const struct config *c, const char *scope);
enum config_scope_box config_scope_box(
    const struct config *c, const char *scope);
bool config_elevated_has(const struct config_elevated *e, const char *scope);
/* What a box of that scope is made of, as a number: where two differ, a box of one
 * would be made in another way by the other. The same in every build. */
uint64_t config_sandbox_sum(const struct config *c, const char *scope);

/* What only the whole file tells. 0, or -EINVAL, `*ret_name` the setting of
 * [sandbox] and the reason. */
int config_check_sandbox(const struct config *c, const char **ret_name,
    char why[CONFIG_WHY]);

/* Looks at this machine, for whoever is to make boxes: the user exists and is
 * not root, ~ in `workspace` is his home, the host's side of each bind is there,
 * is replaced by where it leads, and may be shown, and so may each directory,
 * which is whom boxes run as's own; `rundir` is the server's runtime directory,
 * `conf` its file, which no box may write. Touches the file system, hence at a start and a reload
 * alone; nothing where mode is off. -EINVAL and the reason, then *c is as it
 * was. */
int config_sandbox_resolve(
    struct config *c, const char *rundir, const char *conf, char *why,
    size_t why_size);

#endif
