/* SPDX-License-Identifier: MIT */
/*
 * One table of words per enum in layout.h, for answers, board views and logs.
 * A number from shared memory that is out of range is "?".
 */
#include "shm/state_names.h"

#include "common/check.h"
#include "shm/layout.h"

static const char *const states[] = {
	[STATE_FREE] = "free",
	[STATE_QUEUED] = "queued",
	[STATE_STARTING] = "starting",
	[STATE_RUNNING] = "running",
	[STATE_EXITED] = "exited",
	[STATE_ENDED] = "ended",
};
static_assert(NELEMS(states) == STATE_COUNT, "a word per state");

static const char *const statuses[] = {
	[STATUS_RUNNING] = "running",
	[STATUS_COMPLETED] = "completed",
	[STATUS_FAILED] = "failed",
	[STATUS_KILLED] = "killed",
	[STATUS_LOST] = "lost",
};
static_assert(NELEMS(statuses) == STATUS_COUNT, "a word per status");

static const char *const reasons[] = {
	[END_NONE] = "none",
	[END_EXIT] = "exit",
	[END_SIGNAL] = "signal",
	[END_OVERALL_TIMEOUT] = "overall-timeout",
	[END_NO_OUTPUT_TIMEOUT] = "no-output-timeout",
	[END_MANUAL_CANCEL] = "manual-cancel",
	[END_ABORTED] = "aborted",
	[END_SPAWN_ERROR] = "spawn-error",
	[END_OOM] = "oom",
	[END_LIMIT] = "limit",
	[END_LOST] = "lost",
	[END_SHUTDOWN] = "shutdown",
	[END_LANE_CLEARED] = "lane-cleared",
	[END_DEADLOCK] = "deadlock",
};
static_assert(NELEMS(reasons) == END_REASONS, "a word per reason");

static const char *const stages[] = {
	[STAGE_NONE] = "none",
	[STAGE_PREPARE] = "prepare",
	[STAGE_CLONE] = "clone",
	[STAGE_FDS] = "fds",
	[STAGE_SETSID] = "setsid",
	[STAGE_CHDIR] = "chdir",
	[STAGE_PARENT] = "parent",
	[STAGE_TELL] = "tell",
	[STAGE_EXEC] = "exec",
	[STAGE_LIMIT] = "limit",
	[STAGE_SPILL] = "spill",
	[STAGE_BOX] = "box",
	[STAGE_GROUPS] = "groups",
	[STAGE_SETNS] = "setns",
	[STAGE_SECCOMP] = "seccomp",
};
static_assert(NELEMS(stages) == STAGE_SECCOMP + 1, "a word per stage");

static const char *const streams[] = {
	[RING_STDOUT] = "stdout",
	[RING_STDERR] = "stderr",
	[RING_MIXED] = "mixed",
};
static_assert(NELEMS(streams) == RING_MIXED + 1, "a word per stream");

#define NAME_IN(table, i) ((i) < NELEMS(table) ? (table)[i] : "?")

/* enum board_state */
const char *
state_name(unsigned state)
{
	return NAME_IN(states, state);
}

/* enum board_status */
const char *
status_name(unsigned status)
{
	return NAME_IN(statuses, status);
}

/* enum end_reason */
const char *
reason_name(unsigned reason)
{
	return NAME_IN(reasons, reason);
}

/* enum spawn_stage */
const char *
stage_name(unsigned stage)
{
	return NAME_IN(stages, stage);
}

/* enum ring_stream */
const char *
stream_name(unsigned stream)
{
	return NAME_IN(streams, stream);
}

const char *
lane_block_name(unsigned block)
{
	static const char *const words[] = {
	    [LANE_OPEN] = NULL,
	    [LANE_BLOCK_PAUSED] = "paused",
	    [LANE_BLOCK_WIDTH] = "width",
	    [LANE_BLOCK_GROUP] = "group",
	    [LANE_BLOCK_RESERVED] = "reserved",
	};
	static_assert(NELEMS(words) == LANE_BLOCKS, "a word per block");

	return block < NELEMS(words) ? words[block] : "?";
}
