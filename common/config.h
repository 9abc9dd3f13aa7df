/* SPDX-License-Identifier: MIT */
/*
 * psup.conf and the environment, from one table of options (config.c): name,
 * section, environment names, default, range, unit. A wrong line is refused
 * with file, line and reason; the whole file is then not taken.
 */
#ifndef PSUP_CONFIG_H
#define PSUP_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config_sandbox.h"
#include "common/ctl.h"

#define CONFIG_LANES  64
#define CONFIG_GROUPS 32
#define CONFIG_SCOPES 256

/* Which control groups may hold commands: any, version 2 or 1 alone, none. */
enum config_cgroup {
	CONFIG_CGROUP_AUTO,
	CONFIG_CGROUP_V2,
	CONFIG_CGROUP_V1,
	CONFIG_CGROUP_OFF
};

/* What becomes of a session that is over a bound when it comes. */
/* What a command's stdin is where its call does not say. */
enum config_stdin { CONFIG_STDIN_OPEN, CONFIG_STDIN_CLOSED };
enum config_action { CONFIG_QUEUE, CONFIG_REFUSE };

/* Who is an admin: whoever has the server's uid, or who shows the token. */
enum config_admin { CONFIG_ADMIN_UID, CONFIG_ADMIN_TOKEN };

struct config {
	/* [exec] */
	uint64_t background_ms;      /* yield: 10 000, clamp 10..120 000 */
	uint64_t timeout_sec;        /* 1800; <= 0 means 1800 */
	uint64_t cleanup_ms;         /* TTL: 1 800 000, 60 000..10 800 000 */
	uint64_t max_output_chars;   /* tail of a ring: 200 000, >= 1 000 */
	uint64_t pending_max_output_chars; /* 200 000, 1 000..200 000 */
	uint64_t head_output_chars;  /* head of a ring: 20 000 */
	uint64_t input_wait_idle_ms; /* 15 000, 1 000..600 000 */
	uint64_t input_yield_ms;     /* 2 000, 0: off, ..60 000 */
	uint64_t stdin_default;      /* enum config_stdin */
	uint64_t timeout_warning_sec; /* before a time-out: 10, 0: none */
	uint64_t grace_ms;           /* 5 000, 0..60 000 */
	bool notify_on_exit;         /* true */
	bool notify_on_exit_empty_success; /* false */
	char path_prepend[4096];     /* colon-separated; "" */
	char shell[1024];            /* absolute; "": chosen */
	bool direct;                 /* true: plain words without a shell */
	bool no_new_privs;           /* true: exec gives a command no more
	                              * rights (set-user-ID, capabilities) */
	char workdir[4096];          /* default of exec; "": the client's */
	bool child_oom_score_adj;    /* true: 1000 for commands */
	/* [env] */
	char env_block[4096];        /* beyond envpolicy.def: "A B C_*" */
	/* [retain] */
	uint64_t finished;           /* per scope; 0: no cap */
	uint64_t finished_bytes;     /* per scope; 0: no cap */
	uint64_t event_kinds;        /* EVENT_BITs that are always recorded */
	uint64_t events;             /* unacknowledged per scope: 10 000 */
	/* [spill] */
	char spill_dir[4096];        /* of files without a path; "": none */
	uint64_t spill_max_bytes;    /* where the call says no cap: 1 GiB */
	/* [server] */
	uint64_t workers;            /* 0: one per core; 1..32 */
	uint64_t log_level;          /* enum log_level */
	uint64_t log_format;         /* enum log_format */
	uint64_t output_budget;      /* bytes; 0: a quarter of the tmpfs */
	uint64_t client_memory;      /* of the master, for all scopes: 256 MiB */
	uint64_t frame_bytes;        /* 4 MiB, 64 KiB..64 MiB */
	uint64_t stdin_queue;        /* per session: 1 MiB */
	bool any_fs;                 /* runtime directory need not be tmpfs */
	uint64_t cgroup;             /* enum config_cgroup */
	bool require_token;          /* of whoever names a scope */
	uint64_t admin;              /* enum config_admin */
	char admin_token[65];        /* SHA-256 of its text, in hex; "": none */
	uint64_t group;              /* gid whose members may connect with a
	                              * token; 0: none */
	uint64_t max_running;        /* sessions at once; 0: no bound */
	uint64_t spawn_rate;         /* starts a second; 0: no bound */
	uint64_t spawn_burst;        /* at once; 0: as spawn_rate */
	uint64_t admission;          /* enum config_action, of these three */
	/* [scope] */
	uint64_t scope_max_running;  /* of each named scope; 0: no bound */
	/* [scope "name"] */
	struct config_scope {
		char name[48];
		bool bounded; /* by max_running; else as [scope] says */
		uint64_t max_running;
		uint64_t box; /* enum config_scope_box */
	} scopes[CONFIG_SCOPES];
	uint32_t scope_count;
	char directories[8192]; /* of scopes: NAME"PATH, a line each */
	uint64_t start_ms;           /* of [limits]; from the clone to the
	                              * exec: 10 000, 100..600 000 */
	/* [pressure] */
	uint64_t memory_some_avg10;  /* hundredths of a percent; 0: no bound */
	uint64_t pressure_action;    /* enum config_action */
	char psi_path[4096];         /* "": /proc/pressure/memory */
	uint64_t lane_warn_ms;       /* a wait of this length is told: 2 000;
	                              * 0: never */
	/* [lane "name"]; a last '*': all lanes whose names begin so */
	struct config_lane {
		char name[32];
		uint32_t width;
		uint32_t queue; /* 100 000 */
		char group[32]; /* "": none */
		uint32_t reserve; /* of the group's width */
		int priority;     /* where a call gives none: 0 */
		/* where the call gives none; before those of [limits] */
		struct config_limits {
			uint32_t mask; /* 1 << enum ctl_limit */
			int64_t value[CTL_LIMITS];
		} limits;
		uint32_t group_line, reserve_line; /* of the file */
	} lanes[CONFIG_LANES];
	uint32_t lane_count;
	struct config_limits limits; /* [limits]: of all sessions */
	/* [group "name"]: lanes that share a width */
	struct config_group {
		char name[32];
		uint32_t width;
	} groups[CONFIG_GROUPS];
	uint32_t group_count;
	struct config_sandbox sandbox;	 /* [sandbox] */
	struct config_elevated elevated; /* [elevated] */
};

/* Defaults: main 1, subagent 8. */
void config_defaults(struct config *ret);
/* What stands for a lane of this name: its own section, else the longest
 * pattern; NULL: the defaults. */
const struct config_lane *config_lane_for(const struct config *c,
    const char *name);
/* The file at `path` over what *c holds; on an error *c is unchanged and `why`
 * is "path:line: section.key: reason". Errors: -ENOENT, -EINVAL, -errno. */
int config_read_file(struct config *c, const char *path, char *why,
    size_t why_size);
/* A file that was refused: may it have put scopes into sandboxes? What cannot
 * be read may. */
bool config_may_sandbox(const char *path);
/* The three families of variable names over *c; what is out of range is
 * clamped. PSUP_* that is no number is refused: -EINVAL and why, *c unchanged.
 * Of the older families it counts as not set, and why says so where this
 * returns 0; else it is "". */
int config_read_env(struct config *c, char *why, size_t why_size);
/* $PSUP_CONFIG, else $XDG_CONFIG_HOME/psup/psup.conf, else
 * ~/.config/psup/psup.conf, else /etc/psup/psup.conf; "" where none exists.
 * $PSUP_CONFIG is taken even where it does not exist. */
void config_default_path(char *ret_path, size_t size);

#endif
