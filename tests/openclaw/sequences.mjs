// SPDX-License-Identifier: MIT
// What is asked of both: each sequence is a name and steps. A step is [tool,
// args]; ID in args is the session of the first exec that answered with one,
// GATE a file that the sequence makes with ['open'], and ['end'] polls until
// the session has ended and counts as one answer.
const exec = (command, more) => ['exec', {command, ...more}];
const proc = (action, more) => ['process', {action, ...more}];
const mine = (action, more) => proc(action, {sessionId: 'ID', ...more});
const held = 'until [ -e GATE ]; do sleep 0.02; done';

// What models put into a flat schema when they have nothing to say.
const empty = {data: '', keys: [], hex: [], literal: '', text: '',
  bracketed: true, eof: false, offset: 0, limit: 200, timeout: 0};
const blank = {data: '', literal: '', text: ''};
const nulls = {data: null, keys: null, hex: null, literal: null, text: null,
  bracketed: null, eof: null, offset: null, limit: null, timeout: null};

export const sequences = [];
const add = (name, ...steps) => sequences.push({name, steps});

// Commands in the foreground.
const commands = [
  'true', 'false', 'echo hi', 'printf hi', 'printf "a\\nb"', 'echo a; echo b',
  'echo out; echo err >&2', 'echo err >&2', 'echo; echo', 'printf "\\n\\nx"',
  'printf "  lead"', 'printf "trail  \\n"', 'exit 1', 'exit 2', 'exit 3',
  'exit 42', 'exit 125', 'exit 128', 'exit 200', 'exit 255', 'echo x; exit 3',
  'echo x >&2; exit 4', 'nosuchcommand-zz', '/nonexistent/program',
  '/etc/passwd', 'exit 126', 'exit 127', 'echo x; exit 127', 'kill -TERM $$',
  'kill -HUP $$', 'kill -INT $$', 'kill -USR1 $$', 'kill -KILL $$',
  'echo x; kill -TERM $$', 'seq 5', 'seq 300', 'pwd', 'cd / && pwd',
  'printf "\\033[31mred\\033[0m\\n"', 'printf "\\033]0;title\\007x\\n"',
  'printf "a\\tb\\n"', 'printf "a\\001b\\n"', 'printf "one\\rtwo\\n"',
  'printf "a\\r\\nb\\r\\n"', 'echo ünïcødé 日本 😀', 'printf "\\xe2\\x82z\\n"',
  'printf "\\xff\\xfe\\n"', 'printf "\\xf0\\x9f\\x98\\n"', 'cat </dev/null',
  'echo "$OPENCLAW_SHELL"', 'echo $0 | sed "s,.*/,,"', 'set -e; false; echo no',
  'for i in 1 2 3; do echo $i; done', 'echo a | tr a b', 'echo "it\'s"',
  'echo \'$HOME\'', 'x=1; echo $((x+1))', '(exit 9)', 'echo a && exit 5',
  'yes | head -3', 'echo done &', 'sleep 0.05; echo late',
];
for (const command of commands) add(`runs ${command}`, exec(command));

// Its other arguments.
const args = {
  'title': {title: 'Say hi'}, 'host auto': {host: 'auto'},
  'host gateway': {host: 'gateway'}, 'elevated false': {elevated: false},
  'pty false': {pty: false}, 'background false': {background: false},
  'ask off': {ask: 'off'}, 'no workdir': {workdir: ''},
  'workdir /': {workdir: '/'}, 'workdir nowhere': {workdir: '/nonexistent'},
  'workdir a file': {workdir: '/etc/passwd'}, 'env': {env: {A: 'b'}},
  'env empty': {env: {A: ''}}, 'no env': {env: {}}, 'yield': {yieldMs: 5000},
  'yield too long': {yieldMs: 999999}, 'timeout': {timeoutSeconds: 30},
  'no timeout': {timeoutSeconds: 0}, 'env PATH': {env: {PATH: '/x'}},
  'env LD_PRELOAD': {env: {LD_PRELOAD: 'x'}},
  'env NODE_OPTIONS': {env: {NODE_OPTIONS: 'x'}},
  'env bad name': {env: {'A-B': 'x'}}, 'host sandbox': {host: 'sandbox'},
  'elevated': {elevated: true},
  'all of them': {title: 'All', workdir: '', env: {A: '1'}, yieldMs: 10000,
    background: false, timeoutSeconds: 60, pty: false, elevated: false,
    host: 'auto', ask: 'off', node: ''},
};
for (const [name, more] of Object.entries(args)) {
  add(`exec with ${name}`, exec('echo "[$A]"; pwd', more));
}
add('no command', exec(''));
add('a time-out', exec('sleep 30', {timeoutSeconds: 0.3}));
add('a time-out after output', exec('echo x; sleep 30', {timeoutSeconds: 1}));

// Ids that are none, with each action.
const actions = ['poll', 'log', 'write', 'send-keys', 'submit', 'paste', 'kill',
  'clear', 'remove'];
for (const action of actions) {
  add(`${action} without an id`, proc(action));
  add(`${action} with an empty id`, proc(action, {sessionId: '', ...blank}));
  add(`${action} of nobody`, proc(action, {sessionId: 'no-body'}));
  add(`${action} of nobody, flat`, proc(action,
      {sessionId: 'no-body', ...empty}));
}
add('no action', ['process', {}]);
add('an action that is none', proc('dance'));
add('list of nobody', proc('list'));
add('list, flat', proc('list', {sessionId: 'x', ...empty}));
add('list, null', proc('list', {sessionId: null, ...nulls}));

// Lives in the background.
const life = exec(`echo one; ${held}; echo two`, {background: true});
const fails = exec(`echo one; ${held}; exit 3`, {background: true});
for (const [name, more] of Object.entries({plain: {}, flat: empty, blank})) {
  const timed = {...more, timeout: 30000};
  add(`a life, ${name}`, life, mine('poll', timed), proc('list', more),
      mine('log', {...more, offset: undefined}), ['open'], ['end'],
      mine('log', {...more, offset: undefined}), proc('list', more),
      mine('clear', more), mine('poll', more));
  add(`a failure, ${name}`, fails, mine('poll', timed), ['open'], ['end'],
      proc('list', more), mine('remove', more), mine('log', more));
  add(`a kill, ${name}`, life, mine('poll', timed), mine('kill', more),
      ['end'], mine('log', {...more, offset: undefined}), mine('kill', more));
  add(`a removal, ${name}`, life, mine('poll', timed), mine('remove', more),
      mine('poll', more), proc('list', more));
  add(`clear of what runs, ${name}`, life, mine('clear', more), ['open'],
      ['end'], mine('clear', more), proc('list', more));
}
add('yields', exec(`echo one; ${held}`, {yieldMs: 100}), ['open'], ['end']);
// a shell may say of the sleep that it was terminated
add('a trap', exec(`exec 2>/dev/null; trap "exit 7" TERM; echo up; ${held}`,
    {background: true}), mine('poll', {timeout: 30000}), mine('kill'), ['end']);
add('a time-out in the background', exec('echo x; sleep 30',
    {background: true, timeoutSeconds: 1}), ['end'], proc('list'));
add('not found in the background', exec('nosuchcommand-zz',
    {background: true}), ['end']);
add('a signal in the background', exec('kill -KILL $$', {background: true}),
    ['end'], proc('list'));
add('poll twice', life, mine('poll', {timeout: 30000}), mine('poll'), ['open'],
    ['end'], mine('poll'));

// Pages.
const lines = exec('seq 500', {background: true});
for (const [name, page] of Object.entries({
  'all': {}, 'an offset': {offset: 490}, 'a limit': {limit: 3},
  'both': {offset: 10, limit: 2}, 'beyond': {offset: 1000},
  'beyond both': {offset: 1000, limit: 5}, 'first': {offset: 0, limit: 1},
  'a timeout too': {limit: 2, timeout: 1000}})) {
  add(`log with ${name}`, lines, ['end'], mine('log', page));
}
add('log of nothing', exec('true', {background: true}), ['end'], mine('log'));
add('log of blank lines', exec('printf "a\\n\\n\\nb\\n\\n"',
    {background: true}), ['end'], mine('log'));
add('log of CRLF', exec('printf "a\\r\\nb\\r\\n"', {background: true}), ['end'],
    mine('log', {offset: 1}));
