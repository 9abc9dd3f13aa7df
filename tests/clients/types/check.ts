// SPDX-License-Identifier: MIT
// What tsc --strict must take, and what it must refuse.
import {Psup, PsupError, createExecTool, createProcessTool, schema} from 'psup';
import type {Child, EventNote, ExecAnswer, Row} from 'psup';

export async function all(signal: AbortSignal): Promise<void> {
  const psup: Psup = await Psup.connect({scope: 'agent-7', patienceMs: 1000});
  const {text, details}: ExecAnswer = await psup.exec(
      {command: 'make', yieldMs: null, stdin: {text: 'x'}}, {signal});
  const code: number | null | undefined = details.exitCode;
  const incarnation: string = psup.server.incarnation;
  const keys = await psup.sendKeys({sessionId: 'x', keys: ['C-c']});
  const same = await psup['send-keys']({sessionId: 'x', hex: ['03']});
  const warnings: string[] | undefined = keys.details.warnings;
  const rows: Row[] = (await psup.list()).details.sessions ?? [];
  const started: number | undefined = rows[0]?.startedAt;
  const {events}: {events: EventNote[]} = await psup.events({limit: 5});
  for await (const {data, pos} of psup.output('x', {since: 0})) {
    const next: number = pos + data.length;
    void next;
  }
  const child: Child = psup.spawn('cat', ['-n'], {cwd: '/', psup: {lane: 'x'}});
  child.stdin?.end('x');
  child.once('close', (exit: number | null) => void exit);
  psup.on('event', async event => {
    await psup.ack(event.seq);
  });
  const exec = createExecTool({psup, sessionKey: 's', backgroundMs: 10});
  const answer = await exec.execute('1', {command: 'true'}, signal,
      partial => void partial.content[0]!.text);
  void [createProcessTool({psup: () => psup}), schema('exec'), answer, text, code,
    incarnation, same, warnings, started, events];
  try {
    await psup.call('kill', {sessionId: 'x', signal: 9});
  } catch (e) {
    if (e instanceof PsupError && e.code === 'not-found') return;
  }
  // @ts-expect-error no such parameter
  await psup.exec({cmd: 'x'});
  // @ts-expect-error of another type
  await psup.poll({sessionId: 5});
  // @ts-expect-error no such method
  await psup.call('dance');
  // @ts-expect-error what is required is missing
  await psup.resize({sessionId: 'x'});
  await psup.close();
}
