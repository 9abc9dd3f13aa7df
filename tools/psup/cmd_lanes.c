/* SPDX-License-Identifier: MIT */
/* psup lanes: who runs and waits in which lane, and what an operator may do
 * about it. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

#define DAY_MS    86400000
#define LANES_MAX 1000
#define OPS       "list|set-width|pause|resume|clear|reset|drain"

/* The operations, and how many words follow each. */
static const struct op {
	const char *name;
	int words;
} ops[] = {
	{"list", 0}, {"set-width", 2}, {"pause", 1}, {"resume", 1},
	{"clear", 1}, {"reset", 1}, {"drain", 1},
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A width; -1: the configured one. */
static int64_t
width_of(struct cli *c, const char *text)
{
	if (strcmp(text, "default") == 0)
		return -1;
	return usage_number(&c->usage, "the width (or default)", text, 0,
	    100000);
}

/* list LANE, and there is none of that name: which was meant? */
static int
no_lane(struct cli *c, const char *lane)
{
	struct psup_lane_op all = PSUP_LANE_OP_INIT;
	const char *list[LANES_MAX + 1] = {NULL};
	static char names[LANES_MAX][64];
	const psup_value *rows;
	psup_reply *reply;
	char text[240], meant[MEANT_SIZE];
	int rc;

	rc = psup_lanes(c->p, &all, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	rows = psup_value_get(psup_reply_details(reply), "lanes");
	for (size_t i = 0; i < psup_value_count(rows) && i < LANES_MAX; i++) {
		psup_get_copy(psup_value_at(rows, i), "name", names[i],
		    sizeof(names[i]));
		list[i] = names[i];
	}
	psup_reply_free(&reply);
	snprintf(text, sizeof(text), "there is no lane %.64s now%s", lane,
	    option_meant(psup_nearest(lane, list), meant));
	if (c->json)
		cli_print_json(cli_error_object("not-found", "lane", text));
	cli_say("%s", text);
	return EXIT_NOT_FOUND;
}

/* Asks, prints; a drain that is not done has an exit code of its own. */
static int
call(struct cli *c, const struct psup_lane_op *op)
{
	psup_reply *reply;
	bool late;
	int rc, code;

	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_lanes(c->p, op, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	if (strcmp(op->op, "list") == 0 && op->lane != NULL &&
	    !psup_reply_is_error(reply) &&
	    psup_value_count(psup_value_get(psup_reply_details(reply),
	        "lanes")) == 0) {
		psup_reply_free(&reply);
		return no_lane(c, op->lane);
	}
	late = strcmp(op->op, "drain") == 0 &&
	    !psup_get_bool(psup_reply_details(reply), "drained", true);
	code = cli_answer(c, &reply);
	return code == EXIT_OK && late ? EXIT_TIMED_OUT : code;
}

static struct psup_lane_op op = PSUP_LANE_OP_INIT;

static int
run(struct cli *c, int argc, char **argv)
{
	int words = argc - 1;
	size_t i;

	op.op = argc > 0 ? argv[0] : "list";
	for (i = 0; i < COUNT(ops) && strcmp(ops[i].name, op.op) != 0; i++)
		;
	if (i == COUNT(ops))
		return usage_no_word(&c->usage, "an operation", op.op, OPS);
	if (i == 0 ? words > 1 : words != ops[i].words)
		return cli_usage(c, i == 0 ? "list takes one lane or none"
		        : ops[i].words == 2
		        ? "set-width needs a lane and a width, or default"
		        : "it needs one lane");
	op.lane = words > 0 ? argv[1] : NULL;
	if (ops[i].words == 2)
		op.width = width_of(c, argv[2]);
	return c->usage.wrong ? EXIT_USAGE : call(c, &op);
}

static const struct opt options[] = {
	NUMBER("timeout", 0, "MS", op.wait_ms, 0, DAY_MS,
	    "of drain (30000); exit code 124 then"),
	OPT_END};

const struct command cmd_lanes = {
	.name = "lanes",
	.args = "[list [LANE] | set-width LANE N|default | OPERATION LANE]",
	.words = OPS " @lane ?default",
	.max_args = 3,
	.wants = "it takes an operation, a lane and a width",
	.summary = "Show the lanes, or do something about one",
	.about = "  list               who runs, who waits, and what they wait "
	         "for\n"
	         "  set-width          over the configured width, also after a "
	         "restart\n"
	         "  pause              nobody starts until resume\n"
	         "  clear              who waits is rejected, who runs goes on\n"
	         "  reset              clear, and who runs holds no place any "
	         "more\n"
	         "  drain              refuse new sessions, wait until nobody "
	         "runs or waits\n"
	         "  resume             end pause and drain\n",
	.options = options,
	.run = run,
};
