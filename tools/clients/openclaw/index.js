// SPDX-License-Identifier: MIT
// psup under OpenClaw: the tools psup_exec and psup_process. A scope for each
// agent, ends of background commands into the conversation they belong to, and
// a person's approval before each command unless the configuration says no.
import {createHash} from 'node:crypto';
import {definePluginEntry} from 'openclaw/plugin-sdk/plugin-entry';
import {Psup, PsupError, createExecTool, createProcessTool} from './psup/index.js';

const SCOPE_BYTES = 47, KEY_BYTES = 128;
const MISSING = 'psup is not installed: apt install psup, or set psup.path ' +
    '(openclaw config set plugins.entries.psup.config.path /path/to/psupd).';

// What a name has beyond the limit becomes a hash, so that no two are one.
export function fit(name, limit) {
  // eslint-disable-next-line no-control-regex
  const clean = name.replace(/[\0-\x1f\x7f]/g, '_');
  if (Buffer.byteLength(clean) <= limit) return clean;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 16);
  let head = clean;
  while (Buffer.byteLength(head) > limit - 17) head = head.slice(0, -1);
  return `${head.toWellFormed()}-${hash}`;
}

// The connections, one for each agent: its scope.
class Agents {
  constructor(api) {
    this.api = api;
    this.config = api.pluginConfig ?? {};
    this.open = new Map();
    this.keys = new Map(); // of conversations whose names were too long
  }

  get(agentId = 'main') {
    if (!this.open.has(agentId)) {
      this.open.set(agentId, this.connect(agentId).catch(e => {
        this.open.delete(agentId);
        throw e instanceof PsupError && e.field === 'psupd' &&
            /not installed/.test(e.message)
          ? new PsupError(e.code, MISSING, 'path', {cause: e}) : e;
      }));
    }
    return this.open.get(agentId);
  }

  async connect(agentId) {
    const {path, scope = 'openclaw'} = this.config;
    const psup = new Psup({client: 'openclaw', psupd: path,
      scope: fit(`${scope}/${agentId}`, SCOPE_BYTES)});
    psup.on('error', e => this.api.logger?.warn?.(`psup: ${e.message}`));
    psup.on('event', async event => {
      this.tell(agentId, event);
      await psup.ack(event.seq);
    });
    try {
      await psup.hello();
      return psup;
    } catch (e) {
      await psup.close();
      throw e;
    }
  }

  // The end of a command, as a line of its conversation. Who asked for that
  // end, or for none to be told, is not woken.
  tell(agentId, {kind, quiet, sessionKey: key, text, seq}) {
    if (!['exited', 'lost'].includes(kind) || quiet || !key) return;
    const sessionKey = this.keys.get(key) ?? key;
    const {system} = this.api.runtime;
    system.enqueueSystemEvent(text, {sessionKey, agentId,
      contextKey: `psup:${seq}`});
    system.requestHeartbeat({source: 'other', intent: 'event',
      reason: 'psup-exit', sessionKey, agentId});
  }

  key(sessionKey) {
    if (!sessionKey) return undefined;
    const key = fit(sessionKey, KEY_BYTES);
    if (key !== sessionKey) this.keys.set(key, sessionKey);
    return key;
  }

  // What ended while OpenClaw was away is told now.
  async start() {
    const ids = (this.api.config?.agents?.list ?? []).map(({id}) => id);
    for (const id of new Set(['main', ...ids.filter(Boolean)])) {
      await this.get(id).catch(e => this.api.logger?.warn?.(e.message));
    }
  }

  async stop() {
    const all = await Promise.allSettled(this.open.values());
    this.open.clear();
    await Promise.all(all.map(({value}) => value?.close()));
  }
}

export default definePluginEntry({
  id: 'psup',
  name: 'psup',
  description: 'Commands that outlive OpenClaw, run by psup',
  register(api) {
    const agents = new Agents(api);
    const {approval = true, backgroundMs, timeoutSec, lane} = agents.config;
    const psup = ctx => () => agents.get(ctx?.agentId);
    // In a model's sight as core's exec is, not behind tool_search.
    const register = (name, make) => api.registerTool(ctx =>
      ({...make(ctx), name, label: name, catalogMode: 'direct-only'}), {name});
    register('psup_exec', ctx => createExecTool({psup: psup(ctx),
      sessionKey: agents.key(ctx?.sessionKey), cwd: ctx?.workspaceDir,
      backgroundMs, timeoutSec, lane}));
    register('psup_process', ctx => createProcessTool({psup: psup(ctx)}));
    api.registerService?.({id: 'psup', start: () => agents.start(),
      stop: () => agents.stop()});
    if (!approval) return;
    api.on('before_tool_call', ({toolName, params}) => {
      if (toolName !== 'psup_exec') return undefined;
      const what = params?.command ?? params?.argv?.join?.(' ') ?? '';
      return {requireApproval: {
        title: 'Run a command under psup',
        description: String(what).slice(0, 500),
        severity: 'warning',
      }};
    });
  },
});
