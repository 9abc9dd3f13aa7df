/* SPDX-License-Identifier: MIT */
/*
 * psup doctor: what systemd does to a server behind its back: logind at the end
 * of a login, the manager when memory is short or a unit is stopped. Files are
 * read as systemd reads them: the first directory that has one, then the *.conf
 * of its .d directories, later ones over earlier ones.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

#define VALUE 64

static const char *const logind_dirs[] = {"/usr/lib/systemd/logind.conf.d",
    "/etc/systemd/logind.conf.d", NULL};
static const char *const unit_dirs[] = {"/etc/systemd/system",
    "/run/systemd/system", "/usr/local/lib/systemd/system",
    "/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/user",
    "/usr/local/lib/systemd/user", "/usr/lib/systemd/user", NULL};

/* The last "key=value" of a file, into `ret`, if there is one. */
static void
read_setting(const struct doctor *d, const char *path, const char *key,
    char ret[VALUE])
{
	char text[16384], *save, *line;
	size_t len = strlen(key);

	if (!doctor_read(d, path, text, sizeof(text)))
		return;
	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		if (strncmp(line, key, len) != 0)
			continue;
		line += len + strspn(line + len, " \t");
		if (*line++ != '=')
			continue;
		line += strspn(line, " \t");
		snprintf(ret, VALUE, "%.*s", (int)strcspn(line, " \t\r"),
		    line);
	}
}

static int
is_conf(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return len > 5 && strcmp(e->d_name + len - 5, ".conf") == 0;
}

/* The same of all *.conf of a directory, in order. */
static void
read_settings(const struct doctor *d, const char *dir, const char *key,
    char ret[VALUE])
{
	char full[DOCTOR_PATH], path[DOCTOR_PATH];
	struct dirent **list;
	int n;

	doctor_path(d, full, "%s", dir);
	n = scandir(full, &list, is_conf, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%.500s/%.255s", dir,
		    list[i]->d_name);
		read_setting(d, path, key, ret);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

/* A setting of logind; `dflt` where nobody says anything. */
static void
logind(const struct doctor *d, const char *key, const char *dflt,
    char ret[VALUE])
{
	snprintf(ret, VALUE, "%s", dflt);
	read_setting(d, "/etc/systemd/logind.conf", key, ret);
	for (size_t i = 0; logind_dirs[i] != NULL; i++)
		read_settings(d, logind_dirs[i], key, ret);
}

static bool
is_yes(const char *value)
{
	return strcasecmp(value, "yes") == 0 || strcasecmp(value, "true") == 0 ||
	    strcasecmp(value, "on") == 0 || strcmp(value, "1") == 0;
}

static bool
lingers(const struct doctor *d)
{
	char path[DOCTOR_PATH];

	snprintf(path, sizeof(path), "/var/lib/systemd/linger/%.200s", d->user);
	return d->user[0] != '\0' && doctor_exists(d, path);
}

static bool
has_logind(const struct doctor *d, struct finding *f)
{
	if (doctor_exists(d, "/run/systemd/system"))
		return true;
	finding_set(f, DOCTOR_OK, "systemd does not run here");
	return false;
}

/* Users below 1000 are no people: logind leaves them alone. */
static bool
is_person(const struct doctor *d, struct finding *f)
{
	if (d->uid >= 1000)
		return true;
	finding_set(f, DOCTOR_OK, "uid %u is a system user's",
	    (unsigned)d->uid);
	return false;
}

static void
probe_ipc(const struct doctor *d, struct finding *f)
{
	char value[VALUE];

	if (!has_logind(d, f) || !is_person(d, f))
		return;
	logind(d, "RemoveIPC", "yes", value);
	if (!is_yes(value) || strncmp(d->runtime_dir, "/dev/shm/", 9) != 0 ||
	    lingers(d)) {
		finding_set(f, DOCTOR_OK, "RemoveIPC=%s%s", value,
		    !is_yes(value)  ? ""
		    : lingers(d)    ? ", but the user lingers"
		                    : ", which is about /dev/shm");
		return;
	}
	finding_set(f, DOCTOR_PROBLEM, "RemoveIPC=%s: when %s logs out for "
	    "good, systemd empties /dev/shm, and with it %s", value,
	    d->user[0] != '\0' ? d->user : "the user", d->runtime_dir);
	finding_remedy(f, "loginctl enable-linger %s; or RemoveIPC=no below "
	    "[Login] in /etc/systemd/logind.conf.d/psup.conf and systemctl "
	    "restart systemd-logind; or the unit psup@.service, which lives in "
	    "/run", d->user);
}

static void
probe_linger(const struct doctor *d, struct finding *f)
{
	if (!has_logind(d, f) || !is_person(d, f))
		return;
	if (lingers(d)) {
		finding_set(f, DOCTOR_OK, "%s lingers", d->user);
	} else if (strncmp(d->runtime_dir, "/run/user/", 10) == 0) {
		finding_set(f, DOCTOR_WARNING, "%s goes when the user's last "
		    "login ends", d->runtime_dir);
		finding_remedy(f, "loginctl enable-linger %s", d->user);
	} else {
		finding_set(f, DOCTOR_OK, "%s is not below /run/user",
		    d->runtime_dir);
	}
}

static void
probe_kill_user(const struct doctor *d, struct finding *f)
{
	char value[VALUE];

	if (!has_logind(d, f))
		return;
	logind(d, "KillUserProcesses", "no", value);
	finding_set(f, is_yes(value) && !lingers(d) ? DOCTOR_PROBLEM
	                                            : DOCTOR_OK,
	    "KillUserProcesses=%s%s", value, is_yes(value) && !lingers(d)
		? ": a server started from a login ends with it"
		: "");
	if (f->verdict != DOCTOR_OK)
		finding_remedy(f, "loginctl enable-linger %s and systemctl "
		    "--user enable --now psup; or KillUserProcesses=no in "
		    "/etc/systemd/logind.conf.d/psup.conf", d->user);
}

/* The unit of the server, as its files say; false: there is none. */
static bool
find_unit(const struct doctor *d, const char **ret_name, const char **ret_dir)
{
	static const char *const names[] = {"psup@.service", "psup.service"};
	char path[DOCTOR_PATH];

	for (size_t n = 0; n < 2; n++)
		for (size_t i = 0; unit_dirs[i] != NULL; i++) {
			snprintf(path, sizeof(path), "%s/%s", unit_dirs[i],
			    names[n]);
			if (!doctor_exists(d, path))
				continue;
			*ret_name = names[n];
			*ret_dir = unit_dirs[i];
			return true;
		}
	return false;
}

/* One setting of it. */
static void
unit_setting(const struct doctor *d, const char *name, const char *dir,
    const char *key, char ret[VALUE])
{
	char path[DOCTOR_PATH];
	size_t last = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	read_setting(d, path, key, ret);
	while (unit_dirs[last] != NULL)
		last++;
	/* what is in /etc counts last */
	for (size_t i = last; i > 0; i--) {
		snprintf(path, sizeof(path), "%s/%s.d", unit_dirs[i - 1], name);
		read_settings(d, path, key, ret);
	}
}

/* What the unit must say, and what happens where it does not. */
static const struct {
	const char *key, *dflt, *wanted, *why;
	enum doctor_verdict verdict;
} unit_rules[] = {
	{"OOMPolicy", "stop", "continue", "one command that the kernel kills "
	    "for want of memory ends the whole service", DOCTOR_PROBLEM},
	{"KillMode", "control-group", "mixed", "every command gets SIGTERM "
	    "beside psupd, which then cannot end them in order",
	    DOCTOR_WARNING},
	{"Delegate", "no", "yes", "sessions have no control groups of their "
	    "own", DOCTOR_WARNING},
};

static void
probe_unit(const struct doctor *d, struct finding *f)
{
	const char *name, *dir;
	char value[VALUE];

	if (!find_unit(d, &name, &dir)) {
		finding_set(f, DOCTOR_OK, "no unit of psup is installed");
		return;
	}
	finding_set(f, DOCTOR_OK, "%s/%s", dir, name);
	for (size_t i = 0; i < sizeof(unit_rules) / sizeof(unit_rules[0]);
	     i++) {
		snprintf(value, sizeof(value), "%s", unit_rules[i].dflt);
		unit_setting(d, name, dir, unit_rules[i].key, value);
		if (strcasecmp(value, unit_rules[i].wanted) == 0 ||
		    (is_yes(value) && is_yes(unit_rules[i].wanted)) ||
		    unit_rules[i].verdict <= f->verdict)
			continue;
		finding_set(f, unit_rules[i].verdict, "%s has %s=%s: %s", name,
		    unit_rules[i].key, value, unit_rules[i].why);
		finding_remedy(f, "systemctl edit %s: [Service] and %s=%s below "
		    "it; then systemctl daemon-reload", name,
		    unit_rules[i].key, unit_rules[i].wanted);
	}
}

const struct doctor_check doctor_systemd_checks[] = {
	{"systemd-ipc", probe_ipc},
	{"systemd-linger", probe_linger},
	{"systemd-logout", probe_kill_user},
	{"systemd-unit", probe_unit},
	{NULL, NULL}};
