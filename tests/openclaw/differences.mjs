// SPDX-License-Identifier: MIT
// Where the two differ on purpose. A row names the field, why, and how a value
// of either side is brought to what both mean; a row that nothing needs fails
// the test, and so does a difference without a row.
const cut = re => value => typeof value === 'string' ? value.replace(re, '')
    : value;
const same = (re, word) => value =>
  typeof value === 'string' ? value.replace(re, word) : value;

export const differences = [];
const row = (field, why, openClaw, psup) =>
  differences.push({field, why, openClaw, psup, used: false});

const keep = value => value;
const text = /^(text|details\.error)$/;
const shown = /^(text|details\.(aggregated|output))$/;
const either = word => () => word;
// Both say it, each in its words.
const worded = (why, openClaw, psup, field = text) =>
  row(field, why, value => openClaw.test(value) ? why : value,
      value => psup.test(value) ? why : value);

row(/^details\.aggregated$/, 'aggregated is the output alone',
    cut(/(^\(no output\)|)\n\n\(Command exited with code \d+\)$/), keep);
row(shown, 'outer white space of output is kept',
    value => typeof value === 'string' ? value.trim() || '(no output)' : value,
    value => typeof value === 'string' ? value.trim() || '(no output)' : value);
row(/^(text|details\.aggregated)$/,
    'OpenClaw runs the command behind lines of its own',
    same(/(bash: line) \d+/g, '$1 N'), same(/(bash: line) \d+/g, '$1 N'));
row(text, 'the exit code is named whenever it is not 0', keep,
    cut(/ \(Command exited with code 12[67]\)$/));
row(text, 'that there was no output is said of what failed, too', keep,
    cut(/^\(no output\)\n\n(?=Command )/));
row(text, 'what a SIGKILL may mean is said in a bracket',
    cut(/\n\nOpenClaw selected[^]*/), cut(/ \(perhaps the kernel's[^)]*\)/));
row(text, 'what to do after a time-out is said in other words',
    cut(/\n+(The command was terminated)[^]*/),
    value => cut(/(?<=seconds\.) Nothing of it[^]*/)(
        cut(/(?<=signal SIGTERM\.)\n+Command timed out[^]*/)(value)));
row(text, 'the actions that follow are those that fit the session',
    cut(/ Use process [^]*/), cut(/ (An|No) exit event [^]*/));
row(/^details\.followUp$/, 'they are a list', either(undefined), keep);
row(/^details\.tail$/, 'how much there is at the start depends on the time',
    either(''), either(''));
row(/^(text|details\.(sessions\[\]\.)?name)$/, 'a name ends with no semicolon',
    same(/;$/gm, ''), keep);
row(/stdinWritable$/, 'stdin is open unless it is closed by the call',
    either('either'), either('either'));
worded('kill answers when it is over', /^Termination requested/,
    /^Session ID is ended\./);
worded('how it left after a request is beside what was asked',
    /Process stopped by request \(code 7\)\.$/,
    /Process stopped by request \(signal SIGTERM\)\. It exited with code 7\.$/);
row(/^(details\.status|isError)$/,
    'poll and log say failed of what was stopped by request',
    (value, step) => step.openClaw.exitReason === 'manual-cancel'
        ? 'stopped' : value,
    (value, step) => step.psup.exitReason === 'manual-cancel'
        ? 'stopped' : value);
row(/^details\.output$/, 'output of log is the page alone',
    cut(/\n\nProcess stopped by request[^]*/), keep);
row(text, 'a poll of an end without news says the end alone',
    cut(/^\(no new output\)\n\n(?=Process (exited|stopped))/), keep);
worded('where no lines are, it is said how many there are',
    /^\(no output (yet|recorded)\)/, /^\(no lines there: [^)]*\)/, shown);
worded('one sentence for ids that nobody has', /^No (active|finished) session/,
    /^No session found/);
worded('the actions are psup\'s, and the wrong one is named',
    /^Invalid process action\. Expected/,
    /^(Invalid|Missing) process action.* Expected/);
worded('a directory that is none is named with its error',
    /is unavailable or not a directory: command was not executed/,
    /nothing was run$/);
worded('a variable that is refused is named with its rule',
    /^Security Violation: /, /^(Security violation: |Environment variable )/);
worded('a sandbox that is off is named as in psup.conf',
    /^exec host=sandbox requires/, /^no sandbox: /);
const nothing = right => (value, {elevated}) =>
  elevated === true && right.test(String(value)) ? 'elevated' : value;
row(/^(text|details\.(status|error)|isError)$/,
    'elevated without a sandbox changes nothing, and that is said',
    nothing(/^(elevated is not available right now|failed$|true$)/),
    nothing(/^(Warning: elevated changes nothing|completed$|false$)/));
worded('a command may be argv, too', /^Provide a command/,
    /^command is required/);
