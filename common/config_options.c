/* SPDX-License-Identifier: MIT */
/*
 * Every setting: where it stands in psup.conf, what the environment calls it,
 * its default and range. How a value is read, config_value.c knows.
 */
#include "config_options.h"

#include "check.h"
#include "event_kind.h"
#include "log.h"

#define FROM_ENV(section, name, type, field, dflt, min, max, env_max, ...)      \
	{section, name, OPT_##type, offsetof(struct config, field),            \
	 sizeof(((struct config *)NULL)->field), dflt, min, max, env_max,      \
	 {__VA_ARGS__}}
#define ROW(section, name, type, field, dflt, min, max)                        \
	FROM_ENV(section, name, type, field, dflt, min, max, 0, NULL)
#define EMPTY(section, name, type, field)                                      \
	ROW(section, name, type, field, 0, 0, 0)
#define YES_NO(section, name, field, dflt)                                     \
	ROW(section, name, BOOL, field, dflt, 0, 1)
#define ANY CONFIG_ANY

const struct config_option config_options[] = {
	FROM_ENV("exec", "background_ms", UINT, background_ms, 10000, 10,
	    120000, 0, "PSUP_YIELD_MS", "OPENCLAW_BASH_YIELD_MS",
	    "PI_BASH_YIELD_MS"),
	ROW("exec", "timeout_sec", SECONDS, timeout_sec, 1800, 1, 31536000),
	FROM_ENV("exec", "cleanup_ms", UINT, cleanup_ms, 1800000, 60000,
	    10800000, 0, "PSUP_JOB_TTL_MS", "OPENCLAW_BASH_JOB_TTL_MS",
	    "PI_BASH_JOB_TTL_MS"),
	FROM_ENV("exec", "max_output_chars", UINT, max_output_chars, 200000,
	    1000, 1u << 30, 200000, "PSUP_MAX_OUTPUT_CHARS",
	    "OPENCLAW_BASH_MAX_OUTPUT_CHARS", "PI_BASH_MAX_OUTPUT_CHARS"),
	FROM_ENV("exec", "pending_max_output_chars", UINT,
	    pending_max_output_chars, 200000, 1000, 200000, 0,
	    "PSUP_PENDING_MAX_OUTPUT_CHARS",
	    "OPENCLAW_BASH_PENDING_MAX_OUTPUT_CHARS",
	    "CLAWDBOT_BASH_PENDING_MAX_OUTPUT_CHARS"),
	ROW("exec", "head_output_chars", UINT, head_output_chars, 20000, 0,
	    1u << 30),
	FROM_ENV("exec", "input_wait_idle_ms", UINT, input_wait_idle_ms, 15000,
	    1000, 600000, 0, "PSUP_INPUT_WAIT_IDLE_MS",
	    "OPENCLAW_PROCESS_INPUT_WAIT_IDLE_MS"),
	ROW("exec", "input_yield_ms", UINT, input_yield_ms, 2000, 0, 60000),
	ROW("exec", "stdin", STDIN, stdin_default, CONFIG_STDIN_OPEN, 0,
	    CONFIG_STDIN_CLOSED),
	ROW("exec", "timeout_warning_sec", UINT, timeout_warning_sec, 10, 0,
	    3600),
	ROW("exec", "grace_ms", UINT, grace_ms, 5000, 0, 60000),
	YES_NO("exec", "notify_on_exit", notify_on_exit, 1),
	YES_NO("exec", "notify_on_exit_empty_success",
	    notify_on_exit_empty_success, 0),
	EMPTY("exec", "path_prepend", PATHS, path_prepend),
	EMPTY("exec", "shell", DIR, shell),
	YES_NO("exec", "direct", direct, 1),
	YES_NO("exec", "no_new_privs", no_new_privs, 0),
	EMPTY("exec", "workdir", DIR, workdir),
	FROM_ENV("exec", "child_oom_score_adj", OPT_OUT, child_oom_score_adj, 1,
	    0, 1, 0, "OPENCLAW_CHILD_OOM_SCORE_ADJ"),
	EMPTY("env", "block", NAMES, env_block),
	FROM_ENV("retain", "finished", UINT, finished, 0, 0, ANY, 0,
	    "PSUP_FINISHED_MAX"),
	FROM_ENV("retain", "finished_bytes", UINT, finished_bytes, 0, 0, ANY, 0,
	    "PSUP_FINISHED_BYTES"),
	ROW("retain", "events", UINT, events, 10000, 1, 10000000),
	ROW("retain", "event_kinds", KINDS, event_kinds, EVENT_USUAL, 0, 0),
	EMPTY("spill", "dir", DIR, spill_dir),
	ROW("spill", "max_bytes", UINT, spill_max_bytes, 1u << 30, 1, ANY),
	FROM_ENV("server", "workers", UINT, workers, 0, 0, 32, 0,
	    "PSUP_WORKERS"),
	ROW("server", "output_budget", UINT, output_budget, 0, 0, ANY),
	ROW("server", "client_memory", UINT, client_memory, 256u << 20, 16u <<
	    20, ANY),
	ROW("server", "frame_bytes", UINT, frame_bytes, 4u << 20, 64u << 10, 64u
	    << 20),
	ROW("server", "stdin_queue", UINT, stdin_queue, 1u << 20, 4096, 1u <<
	    30),
	YES_NO("server", "any_fs", any_fs, 0),
	FROM_ENV("server", "cgroup", CGROUP, cgroup, CONFIG_CGROUP_AUTO, 0,
	    CONFIG_CGROUP_OFF, 0, "PSUP_CGROUP"),
	YES_NO("server", "require_token", require_token, 0),
	ROW("server", "admin", ADMIN, admin, CONFIG_ADMIN_UID, 0,
	    CONFIG_ADMIN_TOKEN),
	EMPTY("server", "admin_token", HASH, admin_token),
	EMPTY("server", "group", GROUP, group),
	FROM_ENV("server", "max_running", UINT, max_running, 0, 0, 1000000, 0,
	    "PSUP_MAX_RUNNING"),
	ROW("server", "spawn_rate", UINT, spawn_rate, 0, 0, 100000),
	ROW("server", "spawn_burst", UINT, spawn_burst, 0, 0, 100000),
	ROW("server", "admission", ACTION, admission, CONFIG_QUEUE, 0,
	    CONFIG_REFUSE),
	ROW("scope", "max_running", UINT, scope_max_running, 0, 0, 1000000),
	ROW("limits", "start_ms", UINT, start_ms, 10000, 100, 600000),
	ROW("pressure", "memory_some_avg10", PERCENT, memory_some_avg10, 0, 0,
	    10000),
	ROW("pressure", "action", ACTION, pressure_action, CONFIG_QUEUE, 0,
	    CONFIG_REFUSE),
	FROM_ENV("pressure", "path", DIR, psi_path, 0, 0, 0, 0,
	    "PSUP_PSI_PATH"),
	FROM_ENV("server", "log_level", LOG_LEVEL, log_level, LOG_NOTE, 0,
	    LOG_DEBUG, 0, "PSUP_LOG_LEVEL"),
	FROM_ENV("server", "log_format", LOG_FORMAT, log_format, LOG_LOGFMT, 0,
	    LOG_JSON, 0, "PSUP_LOG_FORMAT"),
	ROW("sandbox", "mode", BOX_MODE, sandbox.mode, CONFIG_SANDBOX_OFF, 0,
	    0),
	ROW("sandbox", "scope", BOX_OF, sandbox.scope, CONFIG_BOX_AGENT, 0, 0),
	EMPTY("sandbox", "user", NAME, sandbox.user),
	ROW("sandbox", "workspace", HOME, sandbox.workspace, 0, 1, 0),
	ROW("sandbox", "access", BOX_ACCESS, sandbox.access, CONFIG_ACCESS_NONE,
	    0, 0),
	EMPTY("sandbox", "directory", HOME, sandbox.directory),
	EMPTY("sandbox", "bind", BIND, sandbox.binds),
	ROW("sandbox", "network", BOX_NETWORK, sandbox.network,
	    CONFIG_NETWORK_NONE, 0, 0),
	YES_NO("sandbox", "allow_host_network", sandbox.allow_host_network, 0),
	EMPTY("sandbox", "env", VARIABLE, sandbox.env),
	EMPTY("sandbox", "setup", TEXT, sandbox.setup),
	ROW("sandbox", "setup_sec", UINT, sandbox.setup_sec, 600, 1, 86400),
	ROW("sandbox", "memory", SIZE, sandbox.memory, 1u << 30, 16u << 20,
	    ANY),
	ROW("sandbox", "pids", UINT, sandbox.pids, 256, 8, 1000000),
	ROW("sandbox", "cpus", PERCENT, sandbox.cpus, 100, 0, 102400),
	ROW("sandbox", "idle_min", UINT, sandbox.idle_min, 1440, 0, 5256000),
	ROW("sandbox", "max_age_min", UINT, sandbox.max_age_min, 10080, 0,
	    5256000),
	ROW("sandbox", "backend", BOX_BACKEND, sandbox.backend,
	    CONFIG_BACKEND_BWRAP, 0, 0),
	EMPTY("sandbox", "container", NAME, sandbox.container),
	ROW("sandbox", "engine", BOX_ENGINE, sandbox.engine,
	    CONFIG_ENGINE_DOCKER, 0, 0),
	YES_NO("elevated", "enabled", elevated.enabled, 0),
	EMPTY("elevated", "scopes", SCOPES, elevated.scopes),
	ROW("elevated", "ask", ASK, elevated.ask, CONFIG_ASK_POLICY, 0, 0),
	ROW("server", "lane_warn_ms", UINT, lane_warn_ms, 2000, 0, 86400000),
};
const size_t config_option_count = NELEMS(config_options);
