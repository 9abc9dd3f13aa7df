// SPDX-License-Identifier: MIT
// The two that are compared: OpenClaw's tools, as its package has them, and
// psup tool, or with $PSUP_PACKAGE the package's tools. Each side is made for one
// sequence, with a scope of its own, and answers call(tool, args) with {text,
// details, isError}.
import {spawn} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const dist = path.join(import.meta.dirname, 'node_modules/openclaw/dist');

// The package's files carry hashes, and what they export has short names.
async function exported(pattern, ...names) {
  for (const file of fs.readdirSync(dist).filter(f => pattern.test(f))) {
    const full = path.join(dist, file);
    const list = /export \{([^}]*)\};\s*$/.exec(fs.readFileSync(full, 'utf8'));
    const short = names.map(name =>
      new RegExp(`\\b${name} as (\\w+)`).exec(list?.[1] ?? '')?.[1]);
    if (short.every(Boolean)) {
      const module = await import(full);
      return short.map(name => module[name]);
    }
  }
  throw new Error(`openclaw has no ${names} any more`);
}

let tools;
export async function loadOpenClaw() {
  tools = await exported(/^bash-tools-[\w-]+\.mjs$/, 'createExecTool',
      'createProcessTool');
}

export function openClaw(scope, cwd) {
  const made = {exec: tools[0]({scopeKey: scope, cwd}),
    process: tools[1]({scopeKey: scope})};
  return {
    async call(tool, args) {
      try {
        const {content, details} = await made[tool].execute('id', args);
        return {text: content.map(part => part.text).join(''), details,
          isError: details.status === 'failed'};
      } catch (e) { // what a model sees of it
        return {text: e.message, details: {status: 'failed'}, isError: true,
          thrown: true};
      }
    },
    close() {},
    schema: made.process.outputSchema,
  };
}

// The same side by the tools of the package for Node.
function packaged(scope, cwd) {
  const made = import(process.env.PSUP_PACKAGE).then(async it => {
    const psup = await it.Psup.connect({scope});
    return {psup, exec: it.createExecTool({psup, cwd}),
      process: it.createProcessTool({psup})};
  });
  return {
    async call(tool, args) {
      const {content, details} = await (await made)[tool].execute('id', args);
      return {text: content[0].text, details,
        isError: details.status === 'failed'};
    },
    close: async () => (await made).psup.close(),
  };
}

export function psup(scope, cwd) {
  if (process.env.PSUP_PACKAGE) return packaged(scope, cwd);
  const child = spawn(path.join(process.env.PSUP_TEST_BIN, 'psup'),
      ['tool', '--scope', scope], {cwd, stdio: ['pipe', 'pipe', 'inherit']});
  const lines = readline.createInterface({input: child.stdout});
  const waiting = [];
  lines.on('line', line => waiting.shift()(JSON.parse(line)));
  return {
    call(tool, args) {
      return new Promise(resolve => {
        waiting.push(resolve);
        child.stdin.write(JSON.stringify({tool, ...args}) + '\n');
      });
    },
    close() {
      return new Promise(resolve => {
        child.once('close', resolve);
        child.stdin.end();
      });
    },
  };
}
