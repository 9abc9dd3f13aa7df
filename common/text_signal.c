/* SPDX-License-Identifier: MIT */
/* Names and numbers of signals. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "text.h"

#define SIGNAL_MAX 64 /* the kernel's; NSIG - 1 */

const char *
text_signal_name(int sig)
{
	static char names[SIGNAL_MAX + 1][12];
	const char *abbrev;

	if (sig < 1 || sig > SIGNAL_MAX)
		return "SIG?";
	if (names[sig][0] == '\0') {
		abbrev = sigabbrev_np(sig);
		if (abbrev != NULL)
			(void)snprintf(names[sig], sizeof(names[sig]), "SIG%s",
			    abbrev);
		else
			(void)snprintf(names[sig], sizeof(names[sig]), "SIG%d",
			    sig);
	}
	return names[sig];
}

int
text_signal_number(const char *s, size_t len)
{
	int sig, number = 0;
	size_t i;

	if (len > 3 && strncasecmp(s, "SIG", 3) == 0) {
		s += 3;
		len -= 3;
	}
	if (len == 0 || len > 10)
		return 0;
	for (sig = 1; sig <= SIGNAL_MAX; sig++) {
		const char *name = text_signal_name(sig) + 3;

		if (strlen(name) == len && strncasecmp(name, s, len) == 0)
			return sig;
	}
	for (i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9' || number > SIGNAL_MAX)
			return 0;
		number = number * 10 + (s[i] - '0');
	}
	return number <= SIGNAL_MAX ? number : 0;
}
