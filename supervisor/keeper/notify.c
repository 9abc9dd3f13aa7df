/* SPDX-License-Identifier: MIT */
/*
 * The keeper's words to its service manager. One socket, opened once; a
 * datagram that does not fit now is dropped: a manager that does not read must
 * not stop the keeper. READY alone is said again: the manager waits for it.
 *
 * The watchdog asks more than whether this loop turns: each round prods the
 * workers, and the next one feeds the dog only if all of them have answered
 * and the master's heart beats.
 */
#include "supervisor/keeper/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "common/config_options.h"
#include "common/format.h"
#include "supervisor/keeper/state.h"

#define ROUNDS        4u /* looks within one watchdog period */
#define WATCHDOG_MIN  UINT64_C(1000)             /* us */
#define WATCHDOG_MAX  (UINT64_C(86400) * 1000000)
#define MASTER_BEAT_NS (3 * NSEC_PER_SEC) /* it beats once a second */
/* READY again: after OWED_NS first, then twice as long each time */
#define OWED_NS (50 * NSEC_PER_MSEC)
#define OWED_MAX_NS (5 * NSEC_PER_SEC)

static struct {
	int fd; /* connected; -1: nobody listens */
	bool reloading;
	uint64_t round_ns; /* between two looks; 0: no watchdog */
	uint64_t next_ns;
	uint64_t prodded_ns;
	uint64_t owed_ns; /* READY found no room: once more then; else NEVER */
	uint64_t pause_ns; /* before that */
} notify = { .fd = -1, .owed_ns = NEVER };

static const char *const own[] = { "NOTIFY_SOCKET=", "WATCHDOG_USEC=",
	"WATCHDOG_PID=", "LISTEN_PID=", "LISTEN_FDS=", "LISTEN_FDNAMES=" };

bool
notify_is_own(const char *var)
{
	size_t i;

	for (i = 0; i < NELEMS(own); i++) {
		if (strncmp(var, own[i], strlen(own[i])) == 0)
			return true;
	}
	return false;
}

char *const *
notify_environ_for_others(void)
{
	static char **kept;
	size_t i, n = 0;

	if (kept != NULL)
		return kept;
	while (environ[n] != NULL)
		n++;
	kept = calloc(n + 1, sizeof(*kept));
	if (kept == NULL)
		return environ;
	for (i = n = 0; environ[i] != NULL; i++) {
		if (!notify_is_own(environ[i]))
			kept[n++] = environ[i];
	}
	return kept;
}

/* One datagram of NAME=value lines. False: there is no room for it now. */
static bool __attribute__((format(printf, 1, 2)))
say(const char *fmt, ...)
{
	char text[512];
	int n;

	if (notify.fd < 0)
		return true;
	n = FORMATTED(text, sizeof(text), fmt);
	if (n < 0 || (size_t)n >= sizeof(text) ||
	    send(notify.fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return true;
	log_event(LOG_DEBUG, "manager-not-told", KV("error", strerror(errno)));
	return errno != EAGAIN && errno != ENOBUFS;
}

/* The address in $NOTIFY_SOCKET: a path, or @ and an abstract name. 0: it is
 * none. */
static socklen_t
parse_address(const char *s, struct sockaddr_un *ret)
{
	size_t len = strlen(s);

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if ((s[0] != '/' && s[0] != '@') || len < 2 ||
	    len >= sizeof(ret->sun_path))
		return 0;
	memcpy(ret->sun_path, s, len);
	if (s[0] == '@')
		ret->sun_path[0] = '\0';
	/* of a path the NUL counts, of an abstract name it would be a part */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
	    (s[0] == '/'));
}

/* $WATCHDOG_USEC, where it is meant for this process. */
static uint64_t
watchdog_usec(void)
{
	const char *usec = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");
	int64_t v;

	if (usec == NULL || (pid != NULL &&
		(!config_parse_number(pid, &v) || v != getpid())))
		return 0;
	if (config_parse_number(usec, &v) && v >= (int64_t)WATCHDOG_MIN &&
	    v <= (int64_t)WATCHDOG_MAX)
		return (uint64_t)v;
	log_event(LOG_WARN, "watchdog-refused", KV("watchdog_usec", usec),
	    KV("least", WATCHDOG_MIN), KV("most", WATCHDOG_MAX),
	    KV("msg", "there will be no watchdog"));
	return 0;
}

void
notify_open(const struct keeper *)
{
	const char *s = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sa;
	socklen_t len;

	notify.next_ns = NEVER;
	if (s == NULL || *s == '\0')
		return;
	len = parse_address(s, &sa);
	if (len == 0) {
		log_event(LOG_WARN, "notify-socket-refused",
		    KV("notify_socket", s),
		    KV("msg", "expected an absolute path or @name of at most "
			      "107 bytes; nobody will be told"));
		return;
	}
	notify.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (notify.fd < 0 ||
	    connect(notify.fd, (struct sockaddr *)&sa, len) < 0) {
		log_event(LOG_WARN, "notify-socket-refused",
		    KV("notify_socket", s), KV("error", strerror(errno)));
		if (notify.fd >= 0)
			(void)close(notify.fd);
		notify.fd = -1;
		return;
	}
	notify.round_ns = watchdog_usec() * 1000 / ROUNDS;
}

/* How many active workers are there and ready? */
static uint32_t
workers_ready(const struct keeper *k)
{
	uint32_t i, n = 0;

	for (i = 0; i < k->slots; i++)
		n += k->slot[i].role == HERITAGE_WORKER &&
		    k->slot[i].state == PROC_READY;
	return n;
}

/* STATUS= of a server that serves. */
static bool
say_status(const struct keeper *k, const char *first)
{
	return say("%s\nSTATUS=Serving %s: %u sessions, %u of %u workers, "
	    "master %u.%u", first, k->opt->runtime_dir,
	    table_count(k->table), workers_ready(k), k->workers,
	    k->master.state == PROC_READY, k->master.wid.generation);
}

/* READY=1, once. */
static void
try_ready(const struct keeper *k)
{
	char first[40];

	(void)snprintf(first, sizeof(first), "READY=1\nMAINPID=%ld",
	    (long)getpid());
	if (say_status(k, first)) {
		notify.owed_ns = NEVER;
		return;
	}
	notify.owed_ns = clock_boot_ns() + notify.pause_ns;
	notify.pause_ns *= 2;
	if (notify.pause_ns > OWED_MAX_NS)
		notify.pause_ns = OWED_MAX_NS;
}

/* READY=1, now or when the manager has read something. */
static void
say_ready(const struct keeper *k)
{
	notify.pause_ns = OWED_NS;
	try_ready(k);
}

void
notify_ready(struct keeper *k)
{
	say_ready(k);
	if (k->opt->newline_fd >= 0) {
		(void)!write(k->opt->newline_fd, "\n", 1);
		(void)close(k->opt->newline_fd);
		k->opt->newline_fd = -1;
	}
	if (notify.fd >= 0 && notify.round_ns != 0)
		notify.next_ns = 0;
}

void
notify_reloading(struct keeper *)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	(void)say("RELOADING=1\nMONOTONIC_USEC=%" PRIu64 "\nSTATUS=Reloading",
	    (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000);
	notify.reloading = true;
	notify.owed_ns = NEVER; /* its end says it */
}

void
notify_stopping(struct keeper *k)
{
	notify.owed_ns = NEVER;
	(void)say("STOPPING=1\nSTATUS=Ending %u sessions", table_count(k->table));
}

/* Has everybody been told of the reload? An upgrade is one to the manager, and
 * is over when it is; its last step, the exec, says READY by notify_ready(). */
static bool
reload_is_told(const struct keeper *k)
{
	uint32_t i;

	if (upgrade_active(k))
		return false;
	for (i = 0; i < k->slots; i++) {
		if (procs_alive(&k->slot[i]) &&
		    (k->slot[i].todo & TODO_RELOAD))
			return false;
	}
	return !procs_alive(&k->master) || !(k->master.todo & TODO_RELOAD);
}

/* Does everybody do what he is for? Not while one is replaced: the dog waits
 * longer than that takes. */
static bool
all_well(const struct keeper *k, uint64_t now)
{
	uint64_t beat = atomic_load(&k->master.page->heartbeat_ns);
	uint32_t i;

	if (k->master.state != PROC_READY || now > beat + MASTER_BEAT_NS ||
	    workers_ready(k) < k->workers)
		return false;
	for (i = 0; i < k->slots; i++) {
		const struct proc *p = &k->slot[i];

		if (p->role == HERITAGE_WORKER &&
		    atomic_load(&p->page->heartbeat_ns) < notify.prodded_ns)
			return false;
	}
	return true;
}

/* Feeds the dog, and asks the workers for a sign of life before the next
 * time. On its way to its end a keeper needs nobody to be well. */
static void
watchdog(struct keeper *k, uint64_t now)
{
	uint32_t i;

	notify.next_ns = now + notify.round_ns;
	if (k->stop == STOP_NO && !all_well(k, now))
		return;
	if (k->stop == STOP_NO)
		(void)say_status(k, "WATCHDOG=1");
	else
		(void)say("WATCHDOG=1");
	notify.prodded_ns = now;
	for (i = 0; i < k->slots; i++)
		k->slot[i].todo |= TODO_ROLE;
}

void
notify_watch(struct keeper *k, uint64_t now)
{
	if (notify.owed_ns <= now)
		try_ready(k);
	if (notify.next_ns <= now)
		watchdog(k, now);
}

void
notify_sent(struct keeper *k)
{
	if (notify.reloading && reload_is_told(k)) {
		notify.reloading = false;
		say_ready(k);
	}
}

uint64_t
notify_next_ns(void)
{
	return notify.owed_ns < notify.next_ns ? notify.owed_ns
	                                       : notify.next_ns;
}
