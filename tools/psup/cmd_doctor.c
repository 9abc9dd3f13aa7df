/* SPDX-License-Identifier: MIT */
/* psup doctor: looks at the system (doctor.h), says what is wrong, and what to
 * do about each. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "color.h"
#include "doctor.h"
#include "common/text_wrap.h"

#define ANSWER_MS 2000

static struct {
	const char *root;
} o = {.root = ""};

/* Why boxes that psup.conf wants cannot be made, as the server says. */
static void
take_sandbox(const psup_value *status, struct doctor_server *ret)
{
	const psup_value *all = psup_value_get(status, "unavailable");

	for (size_t i = 0; i < psup_value_count(all); i++) {
		const psup_value *v = psup_value_at(all, i);

		if (psup_get_is(v, "feature", "sandbox"))
			psup_get_copy(v, "reason", ret->sandbox,
			    sizeof(ret->sandbox));
	}
	if (strstr(ret->sandbox, "mode = off") != NULL)
		ret->sandbox[0] = '\0'; /* nobody wants one */
}

/* Of our groups the first whose members are as good as root. */
static const char *
find_groups(void)
{
	static const char *const names[] = {"docker", "disk", "shadow", "lxd"};
	gid_t own[256];
	int n = getgroups((int)(sizeof(own) / sizeof(*own)), own);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct group *g = getgrnam(names[i]);

		for (int k = 0; g != NULL && k < n; k++)
			if (own[k] == g->gr_gid)
				return names[i];
	}
	return NULL;
}

/* What of the server can be seen from here. */
static void
ask_server(void *arg, struct doctor_server *ret)
{
	struct cli *c = arg;
	psup_reply *reply;
	psup_view *v = NULL;
	int rc = cli_connect(c, CLI_NEVER_START, ANSWER_MS);

	snprintf(ret->said, sizeof(ret->said), "%s", rc == PSUP_ERR_NO_SERVER
		? "none runs; psup exec starts one"
		: psup_error_message(c->p));
	ret->runs = rc == PSUP_OK;
	if (rc == PSUP_OK && psup_status(c->p, &reply) == PSUP_OK) {
		psup_get_copy(psup_reply_value(reply), "version", ret->version,
		    sizeof(ret->version));
		take_sandbox(psup_reply_value(reply), ret);
		psup_reply_free(&reply);
	}
	if (rc != PSUP_ERR_NO_SERVER && !cli_is_scoped(c))
		ret->other_version = psup_view_open(c->runtime_dir, &v, NULL,
		    0) == -EPROTO;
	psup_view_close(&v);
}

/* The directory that a server would have. */
static const char *
runtime_dir(struct cli *c)
{
	static char dir[300];

	if (psup_runtime_dir(c->p)[0] == '\0')
		(void)cli_connect(c, CLI_NEVER_START, ANSWER_MS);
	snprintf(dir, sizeof(dir), "%s", psup_runtime_dir(c->p));
	return dir;
}

static enum style
style_of(enum doctor_verdict v)
{
	static const enum style styles[DOCTOR_VERDICTS] = {STYLE_GREEN,
	    STYLE_CYAN, STYLE_YELLOW, STYLE_RED};

	return styles[v];
}

/* A line, and its remedy below. */
static void
print_finding(const struct cli *c, const struct doctor_check *check,
    const struct finding *f)
{
	char safe[4 * sizeof(f->found) + 1];

	printf("%s%-8s%s %-18s ",
	    color_begin(c, STDOUT_FILENO, style_of(f->verdict)),
	    doctor_verdict_name(f->verdict),
	    color_end(c, STDOUT_FILENO, style_of(f->verdict)), check->name);
	psup_escape(f->found, strlen(f->found), false, safe, sizeof(safe));
	text_wrap(stdout, safe, 28, 28);
	if (f->remedy[0] == '\0')
		return;
	printf("%28s", "");
	psup_escape(f->remedy, strlen(f->remedy), false, safe, sizeof(safe));
	fputs("-> ", stdout);
	text_wrap(stdout, safe, 31, 31);
}

static json_t *
json_of_finding(const struct doctor_check *check, const struct finding *f)
{
	json_t *v = json_pack("{s:s, s:s, s:o}", "name", check->name, "verdict",
	    doctor_verdict_name(f->verdict), "found",
	    json_of_text(f->found, strlen(f->found)));

	if (f->remedy[0] != '\0')
		json_object_set_new(v, "remedy",
		    json_of_text(f->remedy, strlen(f->remedy)));
	return v;
}

/* Everything, in order; counts by verdict. */
static void
look_at_all(const struct cli *c, const struct doctor *d, json_t *list,
    size_t counts[DOCTOR_VERDICTS])
{
	struct finding f;

	for (size_t i = 0; doctor_parts[i] != NULL; i++)
		for (const struct doctor_check *k = doctor_parts[i];
		     k->name != NULL; k++) {
			doctor_look(d, k, &f);
			counts[f.verdict]++;
			if (c->json)
				json_array_append_new(list,
				    json_of_finding(k, &f));
			else
				print_finding(c, k, &f);
		}
}

static int
run(struct cli *c, int, char **)
{
	struct doctor_calls calls = doctor_real_calls;
	struct doctor d = {.root = o.root, .version = psup_version(),
	    .user = "", .groups = find_groups(), .uid = geteuid(),
	    .calls = &calls};
	size_t counts[DOCTOR_VERDICTS] = {0};
	const struct passwd *pw = getpwuid(d.uid);
	json_t *list = json_array();

	if (pw != NULL)
		d.user = pw->pw_name;
	d.runtime_dir = runtime_dir(c);
	if (d.runtime_dir[0] == '\0') {
		json_decref(list);
		return cli_fail(c, PSUP_ERR_SYSTEM);
	}
	calls.server = ask_server;
	calls.arg = c;
	look_at_all(c, &d, list, counts);
	if (c->json)
		cli_print_json(json_pack("{s:s, s:s, s:i, s:i, s:O}",
		    "version", d.version, "runtimeDir", d.runtime_dir,
		    "problems", (int)counts[DOCTOR_PROBLEM], "warnings",
		    (int)counts[DOCTOR_WARNING], "checks", list));
	else
		printf("\n%zu problem%s, %zu warning%s\n",
		    counts[DOCTOR_PROBLEM],
		    counts[DOCTOR_PROBLEM] == 1 ? "" : "s",
		    counts[DOCTOR_WARNING],
		    counts[DOCTOR_WARNING] == 1 ? "" : "s");
	json_decref(list);
	return counts[DOCTOR_PROBLEM] > 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct opt options[] = {
	TEXT("root", 0, "DIR", "@dir", o.root,
	    "read the files of the system below DIR (/proc, /sys, /etc, /run, "
	    "/dev/shm)"),
	OPT_END};

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "Look for what keeps psup from running well, and say the remedy",
	.about = "Looks at the runtime directory and its tmpfs, memory, limits "
	         "of descriptors and processes, the kernel, control groups, "
	         "what systemd does at logout and to units, the server and its "
	         "version, what dead servers have left, and whether boxes "
	         "can be made. Nothing is changed; "
	         "no server is needed.",
	.options = options,
	.notes = "Verdicts: ok; note, worth knowing; warning, it will hurt one "
	         "day; problem. Exit code 1: there is a problem.",
	.run = run,
};
