/* SPDX-License-Identifier: MIT */
/* The environment that commands get. */
#ifndef MCP_LOGIN_ENV_H
#define MCP_LOGIN_ENV_H

/* That of the user's login shell, which is asked: up to 10 s. NULL: it did not
 * answer, and that was said. Kept for good. */
char **login_env_read(void);
/* Our own, as a list that may be changed; NULL: no memory. */
char **login_env_own(void);

#endif
