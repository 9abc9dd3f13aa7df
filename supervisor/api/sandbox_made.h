/* SPDX-License-Identifier: MIT */
/* What a box is made of, as explainSandbox and sandboxes say it. */
#ifndef PSUP_SUPERVISOR_API_SANDBOX_MADE_H
#define PSUP_SUPERVISOR_API_SANDBOX_MADE_H

#include "common/config_sandbox.h"
#include "common/codec.h"

/* Into the map that e is in; `directory` is that of the box's scope. */
void sandbox_put_made(struct enc *e, const struct config_sandbox *s,
    const char *directory);

#endif
