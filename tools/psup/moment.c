/* SPDX-License-Identifier: MIT */
/* The grammar of moment.h. Called by cmd_log.c. */
#include "moment.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/option.h"

#define DAY_MS      86400000
#define DURATION_MS (INT64_C(36525) * DAY_MS) /* a hundred years */

/* "1h30m"; a number alone is seconds. */
static bool
parse_duration(const char *text, int64_t *ret_ms)
{
	double ms = duration_parse(text, 1000);

	if (ms < 0 || ms > (double)DURATION_MS)
		return false;
	*ret_ms = (int64_t)ms;
	return true;
}

/* Hours, minutes, seconds into tm, their fraction; what follows them. NULL:
 * there are none. */
static const char *
parse_clock(const char *text, struct tm *tm, int64_t *ret_ms)
{
	int h, m, s = 0, n = 0, more = 0;

	if (sscanf(text, "%2d:%2d%n", &h, &m, &n) != 2)
		return NULL;
	if (sscanf(text + n, ":%2d%n", &s, &more) == 1)
		n += more;
	if (h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 60)
		return NULL;
	tm->tm_hour = h;
	tm->tm_min = m;
	tm->tm_sec = s;
	text += n;
	*ret_ms = 0;
	if (*text != '.')
		return text;
	text++;
	for (int64_t unit = 100; *text >= '0' && *text <= '9'; unit /= 10)
		*ret_ms += unit * (*text++ - '0');
	return text;
}

/* "2026-11-21 14:30:00Z" and its shorter forms. */
static bool
parse_date(const char *text, int64_t *ret_ms)
{
	struct tm tm = {.tm_isdst = -1};
	int y, m, d, n = 0;
	int64_t ms = 0;
	time_t t;

	if (sscanf(text, "%4d-%2d-%2d%n", &y, &m, &d, &n) != 3 || y < 1970 ||
	    m < 1 || m > 12 || d < 1 || d > 31)
		return false;
	tm.tm_year = y - 1900;
	tm.tm_mon = m - 1;
	tm.tm_mday = d;
	text += n;
	if (*text == ' ' || *text == 'T' || *text == 't') {
		text = parse_clock(text + 1, &tm, &ms);
		if (text == NULL)
			return false;
	}
	if (*text == 'Z' || *text == 'z') {
		text++;
		t = timegm(&tm);
	} else {
		t = mktime(&tm);
	}
	*ret_ms = (int64_t)t * 1000 + ms;
	return *text == '\0' && t >= 0 && tm.tm_mday == d;
}

/* "14:30", today or yesterday. */
static bool
parse_today(const char *text, int64_t now_ms, int64_t *ret_ms)
{
	time_t now = (time_t)(now_ms / 1000), t;
	struct tm tm;
	int64_t ms;

	if (localtime_r(&now, &tm) == NULL)
		return false;
	text = parse_clock(text, &tm, &ms);
	if (text == NULL || *text != '\0')
		return false;
	tm.tm_isdst = -1;
	t = mktime(&tm);
	if (t > now) {
		tm.tm_mday--;
		tm.tm_isdst = -1;
		t = mktime(&tm);
	}
	*ret_ms = (int64_t)t * 1000 + ms;
	return true;
}

bool
moment_parse(const char *text, int64_t now_ms, int64_t *ret_ms)
{
	int64_t ms;

	if (*text == '@') {
		if (!parse_duration(text + 1, &ms) ||
		    strspn(text + 1, "0123456789.") != strlen(text + 1))
			return false;
		*ret_ms = ms;
		return true;
	}
	if (parse_duration(text, &ms)) {
		*ret_ms = now_ms > ms ? now_ms - ms : 0;
		return true;
	}
	return parse_date(text, ret_ms) || parse_today(text, now_ms, ret_ms);
}
