/* SPDX-License-Identifier: MIT */
/*
 * What psup.conf and the environment say: read at the start and at SIGHUP, and
 * put in force. Called by master.c, master_reload() by link.c.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/box_facts.h"
#include "common/envpolicy.h"
#include "common/log.h"
#include "supervisor/master.h"

#define WHY 512

extern char **environ;

/* The server's own environment, filtered, as the base where a client sends
 * none. */
int
settings_base_env(struct master *m)
{
	const struct passwd *pw = getpwuid(geteuid());
	const char *v;
	size_t at = 0;

	for (char **e = environ; *e != NULL; e++) {
		size_t key = strcspn(*e, "=");

		if ((*e)[key] == '=' && env_is_basic(*e, key))
			m->base_env_bytes += strlen(*e) + 1;
	}
	m->base_env = malloc(m->base_env_bytes + 1);
	if (m->base_env == NULL)
		return -ENOMEM;
	for (char **e = environ; *e != NULL; e++) {
		size_t key = strcspn(*e, "=");

		if ((*e)[key] != '=' || !env_is_basic(*e, key))
			continue;
		memcpy(m->base_env + at, *e, strlen(*e) + 1);
		at += strlen(*e) + 1;
	}
	v = getenv("HOME");
	if (v == NULL || v[0] != '/')
		v = pw != NULL ? pw->pw_dir : "/";
	snprintf(m->home, sizeof(m->home), "%s", v);
	v = getenv("SHELL");
	if (v == NULL)
		v = pw != NULL ? pw->pw_shell : "";
	snprintf(m->user_shell, sizeof(m->user_shell), "%s", v);
	v = getenv("PATH");
	snprintf(m->server_path, sizeof(m->server_path), "%s",
	    v != NULL && v[0] != '\0' ? v : "/usr/local/bin:/usr/bin:/bin");
	return 0;
}

/* Why no box can be made, as far as can be known without making one. */
static void
look_at_sandbox(struct master *m)
{
	const struct config_sandbox *s = &m->cfg.sandbox;

	if (s->mode == CONFIG_SANDBOX_OFF || s->mode == CONFIG_SANDBOX_UNKNOWN) {
		(void)strlcpy(m->sandbox_why,
		    s->mode == CONFIG_SANDBOX_OFF ?
			"no sandbox: [sandbox] mode = off" :
			"no sandbox: psup.conf was refused, and it may have "
			"put scopes into one",
		    sizeof(m->sandbox_why));
		return;
	}
	box_facts_look(s, &m->box_facts);
	if (box_facts_why(s, &m->box_facts, m->sandbox_why))
		log_event(LOG_WARN, "no-sandbox", KV("why", m->sandbox_why));
}

/* File and environment over the defaults. */
static int
read_settings(const struct master *m, struct config *ret, char why[WHY])
{
	int r = 0;

	config_defaults(ret);
	if (m->h.config_path[0] != '\0')
		r = config_read_file(ret, m->h.config_path, why, WHY);
	if (r == 0)
		r = config_read_env(ret, why, WHY);
	if (r == 0 && why[0] != '\0')
		log_event(LOG_WARN, "setting-ignored", KV("why", why));
	return r;
}

static int
resolve_sandbox(const struct master *m, struct config *c, char why[WHY])
{
	return config_sandbox_resolve(
	    c, m->h.runtime_dir, m->h.config_path, why, WHY);
}

int
settings_begin(struct master *m)
{
	char why[WHY] = "";
	int r = read_settings(m, &m->cfg, why);

	if (r < 0 && r != -ENOMEM) {
		log_event(LOG_ERROR, "config-refused", KV("why", why),
		    KV("msg", "the defaults are in force"));
		config_defaults(&m->cfg);
		if (config_may_sandbox(m->h.config_path))
			m->cfg.sandbox.mode = CONFIG_SANDBOX_UNKNOWN;
		r = 0;
	}
	if (r == 0)
		r = resolve_sandbox(m, &m->cfg, why);
	if (r == -ENOMEM)
		return r;
	look_at_sandbox(m);
	if (r == 0)
		return 0;
	/* what it says is right; what it names may be gone since */
	log_event(LOG_ERROR, "config-refused", KV("why", why),
	    KV("msg", "no box is made, and all else is in force"));
	(void)snprintf(m->sandbox_why, sizeof(m->sandbox_why),
	    "no sandbox: %.200s", why);
	return 0;
}

/* Gives the lanes what is configured. */
int
settings_lanes(struct master *m)
{
	const struct config *cfg = &m->cfg;
	struct lane_conf *lanes = calloc(CONFIG_LANES, sizeof(*lanes));
	struct lane_group_conf groups[CONFIG_GROUPS];
	int r = -ENOMEM;

	for (uint32_t i = 0; i < cfg->group_count; i++) {
		groups[i].width = cfg->groups[i].width;
		strlcpy(groups[i].name, cfg->groups[i].name,
		    sizeof(groups[i].name));
	}
	for (uint32_t i = 0; lanes != NULL && i < cfg->lane_count; i++) {
		const struct config_lane *c = &cfg->lanes[i];

		memcpy(lanes[i].name, c->name, sizeof(c->name));
		memcpy(lanes[i].group, c->group, sizeof(c->group));
		lanes[i].width = c->width;
		lanes[i].queue_max = c->queue;
		lanes[i].reserve = c->reserve;
	}
	if (lanes != NULL)
		r = lanes_setup(m->lanes, groups, cfg->group_count, lanes,
		    cfg->lane_count);
	if (r < 0)
		log_event(LOG_ERROR, "lanes-not-set",
		    KV("error", strerror(-r)));
	lanes_set_warn(m->lanes, cfg->lane_warn_ms);
	free(lanes);
	return r;
}

/* The keeper knows whether a command line goes first, and tells everybody. */
static void
tell_log(struct master *m)
{
	struct ctl_log msg = {.head = CTL_INIT(CTL_LOG, (struct sid){0},
				  struct ctl_log),
	    .how = LOG_PACK(m->cfg.log_level, m->cfg.log_format)};
	int r = link_send(m, &msg, sizeof(msg));

	if (r < 0)
		log_event(LOG_WARN, "log-stays-as-it-is",
		    KV("error", strerror(-r)));
}

/* SIGHUP: new values, or the old ones and a reason in the log. */
void
master_reload(struct master *m)
{
	struct config *c = malloc(sizeof(*c));
	char why[WHY] = "out of memory";
	int r = c != NULL ? read_settings(m, c, why) : -ENOMEM;

	if (r == 0)
		r = resolve_sandbox(m, c, why);
	if (r == 0)
		m->cfg = *c;
	else
		log_event(LOG_ERROR, "config-refused", KV("why", why));
	free(c);
	if (r < 0)
		return;
	tell_log(m);
	look_at_sandbox(m);
	(void)settings_lanes(m);
	gate_configure(m);
	boxes_reload(m);
	events_set_keep(m->events, m->cfg.events);
	api_events_recount(m);
	sweep_budget(m);
	deadlock_look_all(m, m->lanes);
	deadlock_look_all(m, admission_lanes(m->gate.admission));
	session_pump_lanes(m);
	log_event(LOG_NOTE, "config-read");
}
