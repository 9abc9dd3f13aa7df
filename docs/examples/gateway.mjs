#!/usr/bin/env node
// SPDX-License-Identifier: MIT
//
// gateway.mjs DIR [SCOPE]: a gateway that may be killed at any instant, by the
// package psup (tools/clients/node); gateway_wire.py is the same without any.
//
// DIR/jobs has a job a line, "name<TAB>shell command". Each is run once by
// psup, in the background, and gets one line in DIR/results: "name<TAB>status
// <TAB>exit code". The program ends when every job has its result. Killed and
// started again it neither runs a job twice nor reports one twice; see
// docs/gateways.md. Without SCOPE it is an administrator, and its sessions are
// in no scope.
import fs from 'node:fs';
import {Psup} from 'psup';

const [dir, scope] = process.argv.slice(2);
const jobs = new Map(fs.readFileSync(`${dir}/jobs`, 'utf8').split('\n')
    .filter(line => line !== '').map(line => {
      const tab = line.indexOf('\t');
      return [line.slice(0, tab), line.slice(tab + 1)];
    }));
const file = fs.openSync(`${dir}/results`, 'a+');
const text = fs.readFileSync(`${dir}/results`, 'utf8');
// a line without its end was being written: it does not count
const whole = text.slice(0, text.lastIndexOf('\n') + 1);
fs.ftruncateSync(file, Buffer.byteLength(whole));
const done = new Set(whole.split('\n').map(line => line.split('\t')[0]));

const psup = new Psup({client: 'gateway.mjs', scope, subscriber: 'gateway'});

let end = () => {};
const ended = new Promise(resolve => { end = () => resolve(undefined); });
function look() {
  if ([...jobs.keys()].every(job => done.has(job))) end();
}

/**
 * Once for each job, and on disk before anything is acknowledged.
 * @param {string | null | undefined} job
 * @param {string | undefined} status
 * @param {number | null | undefined} code
 */
function report(job, status, code) {
  if (!job || !jobs.has(job) || done.has(job)) return;
  fs.writeSync(file, `${job}\t${status}\t${code ?? '-'}\n`);
  fs.fsyncSync(file);
  done.add(job);
}

/** @param {import('psup').EventNote} event */
async function handle({kind, scope: whose, sessionKey, status, exitCode, seq}) {
  // an administrator hears of every scope; a quiet end is one, too
  if ((kind === 'exited' || kind === 'lost') && whose === (scope ?? '')) {
    report(sessionKey, status, exitCode);
  }
  await psup.ack(seq);
  look();
}

// What has no result: the same request key starts nothing twice.
async function begin() {
  await Promise.all([...jobs].filter(([job]) => !done.has(job))
      .map(async ([job, command]) => {
        const {details} = await psup.exec(
            {command, background: true, requestKey: job, sessionKey: job});
        // It did not start; or its key is known, and it has ended: whoever ran
        // it before may have acknowledged its event.
        const {status, exitReason, exitCode} = details;
        if (status !== 'running') {
          report(job, exitReason === 'lost' ? 'lost' : status, exitCode);
        }
      }));
  look();
}

// First what happened meanwhile, then what is to be done.
async function catchUp() {
  for (;;) {
    const {events} = await psup.events({subscriber: 'gateway', limit: 1000});
    if (events.length === 0) break;
    for (const event of events) await handle(event);
  }
  await begin();
}

psup.on('error', e => console.error(`gateway: ${e.message}`));
psup.on('event', handle);
psup.on('reconnect', () => catchUp().catch(e => psup.emit('error', e)));
await catchUp();
await ended;
await psup.close();
