/* SPDX-License-Identifier: MIT */
/* What a function of printf's kind was told, as a text. */
#ifndef PSUP_FORMAT_H
#define PSUP_FORMAT_H

#include <stdarg.h>
#include <stdio.h>

/* In a function whose last argument before the dots is fmt: as snprintf. */
#define FORMATTED(buf, size, fmt)                                              \
	({                                                                     \
		va_list ap_;                                                   \
		int n_;                                                        \
                                                                               \
		va_start(ap_, fmt);                                            \
		n_ = vsnprintf(buf, size, fmt, ap_);                           \
		va_end(ap_);                                                   \
		n_;                                                            \
	})

#endif
