/* SPDX-License-Identifier: MIT */
/* Names of states, statuses and reasons, as clients and people see them. */
#ifndef PSUP_SHM_STATE_NAMES_H
#define PSUP_SHM_STATE_NAMES_H

const char *state_name(unsigned state);   /* enum board_state: "running" */
const char *status_name(unsigned status); /* enum board_status */
const char *reason_name(unsigned reason); /* enum end_reason: "exit" */
const char *stage_name(unsigned stage);   /* enum spawn_stage: "exec" */
/* enum lane_block: "width", as the protocol has it; NULL: LANE_OPEN */
const char *lane_block_name(unsigned block);
const char *stream_name(unsigned stream); /* enum ring_stream: "stdout" */

#endif
