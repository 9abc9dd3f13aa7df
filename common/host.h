/* SPDX-License-Identifier: MIT */
/* Where a command may run. Asked for by exec and by the command line, decided by
 * box_policy.c. */
#ifndef PSUP_HOST_H
#define PSUP_HOST_H

/* What a call says. */
enum box_host {
	BOX_HOST_AUTO,
	BOX_HOST_GATEWAY,
	BOX_HOST_SANDBOX,
	BOX_HOST_NODE,
	BOX_HOSTS
};
#define BOX_HOST_WORDS   "auto, gateway, sandbox or node"
#define BOX_HOST_CHOICES "auto|gateway|sandbox" /* a node is none yet */
#define BOX_ASK_WORDS    "off, on-miss or always"
#define BOX_SECURITY_WORDS "full, allowlist or deny"
#define BOX_ASK_CHOICES  "off|on-miss|always"

/* Where its command runs. */
enum session_host {
	HOST_GATEWAY, /* on this machine */
	HOST_SANDBOX, /* in a box */
	HOST_BOX,     /* it is one: ours, as the next */
	HOST_SETUP    /* sets one up, from inside */
};

#endif
