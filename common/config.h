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

#define CONFIG_LANES 64

/* Which control groups may hold commands: any, version 2 or 1 alone, none. */
enum config_cgroup {
	CONFIG_CGROUP_AUTO,
	CONFIG_CGROUP_V2,
	CONFIG_CGROUP_V1,
	CONFIG_CGROUP_OFF
};

struct config {
	/* [exec] */
	uint64_t background_ms;      /* yield: 10 000, clamp 10..120 000 */
	uint64_t timeout_sec;        /* 1800; <= 0 means 1800 */
	uint64_t cleanup_ms;         /* TTL: 1 800 000, 60 000..10 800 000 */
	uint64_t max_output_chars;   /* tail of a ring: 200 000, >= 1 000 */
	uint64_t pending_max_output_chars; /* 200 000, 1 000..200 000 */
	uint64_t head_output_chars;  /* head of a ring: 20 000 */
	uint64_t input_wait_idle_ms; /* 15 000, 1 000..600 000 */
	uint64_t grace_ms;           /* 5 000, 0..60 000 */
	bool notify_on_exit;         /* true */
	bool notify_on_exit_empty_success; /* false */
	char path_prepend[4096];     /* colon-separated; "" */
	char shell[1024];            /* absolute; "": chosen */
	char workdir[4096];          /* default of exec; "": the client's */
	bool child_oom_score_adj;    /* true: 1000 for commands */
	/* [retain] */
	uint64_t finished;           /* per scope; 0: no cap */
	uint64_t finished_bytes;     /* per scope; 0: no cap */
	uint64_t events;             /* unacknowledged per scope: 10 000 */
	/* [server] */
	uint64_t workers;            /* 0: one per core; 1..32 */
	uint64_t output_budget;      /* bytes; 0: a quarter of the tmpfs */
	uint64_t frame_bytes;        /* 4 MiB, 64 KiB..64 MiB */
	uint64_t stdin_queue;        /* per session: 1 MiB */
	bool any_fs;                 /* runtime directory need not be tmpfs */
	uint64_t cgroup;             /* enum config_cgroup */
	/* [lane "name"] */
	struct config_lane {
		char name[32];
		uint32_t width;
		uint32_t queue; /* 100 000 */
	} lanes[CONFIG_LANES];
	uint32_t lane_count;
};

/* Defaults: main 1, subagent 8. */
void config_defaults(struct config *ret);
/* The file at `path` over what *c holds; on an error *c is unchanged and `why`
 * is "path:line: section.key: reason". Errors: -ENOENT, -EINVAL, -errno. */
int config_read_file(struct config *c, const char *path, char *why,
    size_t why_size);
/* The three families of variable names over *c; what is out of range is
 * clamped, what is no number is refused: -EINVAL and why, *c unchanged. */
int config_read_env(struct config *c, char *why, size_t why_size);
/* $PSUP_CONFIG, else $XDG_CONFIG_HOME/psup/psup.conf, else
 * ~/.config/psup/psup.conf, else /etc/psup/psup.conf; "" where none exists.
 * $PSUP_CONFIG is taken even where it does not exist. */
void config_default_path(char *ret_path, size_t size);

#endif
