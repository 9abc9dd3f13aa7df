// SPDX-License-Identifier: MIT
// What every failed call throws. `code` is the wire's (docs/protocol.md,
// section 12), or connection-lost, or no-server.
export class PsupError extends Error {
  constructor(code, message, field, more) {
    super(message, more?.cause && {cause: more.cause});
    this.name = 'PsupError';
    this.code = code;
    if (field !== undefined) this.field = field;
    for (const key of ['value', 'expected', 'details']) {
      if (more?.[key] !== undefined) this[key] = more[key];
    }
  }
}
