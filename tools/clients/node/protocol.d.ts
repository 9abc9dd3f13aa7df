// Printed by psup-gendoc types ts from common/proto.def.
// docs/protocol.md says the rest.
export type Data = string | Uint8Array;
export type Fields = Record<string, any>;
export interface SessionGroup {
  /** completed, failed or running; of a row also killed and lost */
  status?: string;
  /** Its slug */
  sessionId?: string;
}
export interface NamedGroup {
  /** Verb and target of its command */
  name?: string;
}
export interface FailureGroup {
  /** The text, of what was refused */
  error?: string;
  /** Why: one of section 12 */
  code?: string;
  /** Of share-used-up: memory, connections, sessions, waiting or output */
  resource?: string;
  /** Of it: what the scope has */
  used?: number;
  /** Of it: the scope's share */
  fair?: number;
  /** Of it: what there is in all */
  limit?: number;
}
export interface ExitGroup {
  /** Absent where there is none; of exec then nil */
  exitCode?: number | null;
  /** The same: SIGTERM, ... */
  exitSignal?: string | null;
  /** exit, signal, overall-timeout, no-output-timeout, manual-cancel, spawn-error, oom, limit, lost, shutdown, lane-cleared, deadlock */
  exitReason?: string;
  /** Of exec: why it counts as failed: shell-command-not-found, shell-not-executable, signal, overall-timeout, no-output-timeout, aborted, runtime-error, oom, limit, lost, lane-cleared, deadlock */
  failureKind?: string;
  /** Of oom and limit: which one; memoryBytes, cpuSeconds, fileSizeBytes, pids */
  limitHit?: string;
  /** By either time-out */
  timedOut?: boolean;
  /** By silence */
  noOutputTimedOut?: boolean;
  /** Processes that outlived the command and hold its output */
  holders?: number;
  /** pid, name of the first 8 */
  holderList?: Fields[];
  /** Of a forced end: processes still alive */
  remaining?: number;
  /** The first 16 of them */
  remainingPids?: number[];
  /** Of a forced end: ms from its first signal to its end; killed: it came to SIGKILL */
  ladder?: Fields;
  /** true: three workers in a row crashed while they handled it */
  quarantined?: boolean;
  /** Of a command that could not be started */
  errno?: string;
  /** Of it: what failed */
  stage?: string;
  /** Of it: the path at which that hung */
  hungAt?: string;
}
export interface InputGroup {
  /** write can feed it */
  stdinWritable?: boolean;
  /** It seems to wait for input */
  waitingForInput?: boolean;
  /** Why: stdin-read, tty-read, idle (section 6); absent: it does not */
  waitReason?: string;
  /** Since its last output, or its start */
  idleMs?: number;
  /** Of its last output, or its start */
  lastOutputAt?: number;
}
export interface QueueGroup {
  /** Its place, from 1 */
  queuePosition?: number;
  /** What it waits for: lane, max-running, scope-max-running, spawn-rate or pressure */
  queuedFor?: string;
}
export interface TerminalGroup {
  /** true: it has a terminal */
  pty?: boolean;
  cols?: number;
  rows?: number;
}
export interface UncertainGroup {
  /** true: a worker died with input of a terminal in its hand, so that it was given once or not at all */
  stdinUncertain?: boolean;
  /** How much */
  stdinUncertainBytes?: number;
}
export interface OutputGroup {
  /** The retained output, its last 200 000 bytes (max_output_chars) */
  aggregated?: string;
  /** aggregated is not all of it */
  truncated?: boolean;
  /** Bytes that are not retained */
  droppedBytes?: number;
  /** damaged, gone, busy: why the output cannot be read */
  outputState?: string;
}
export interface TotalGroup {
  /** Bytes of output, ever */
  totalOutputChars?: number;
}
export interface UsageGroup {
  /** cpuMs, maxRssBytes, rssBytes, ioBytes, pids; what list says of them */
  usage?: Fields;
}
export interface SpillGroup {
  /** path, maxBytes, bytes, state (section 6), missing */
  spill?: Fields;
}
export interface ExecGroup {
  /** Never used again, unlike the slug */
  instanceId?: string;
  /** queued, starting, running, exited, ended */
  state?: string;
  /** Where it runs */
  cwd?: string;
  /** Absent while it has none */
  pid?: number;
  startedAt?: number;
  /** While it runs: the last 2000 bytes */
  tail?: string;
  /** While it runs: the actions that fit it */
  followUp?: string[];
  /** Once it ended */
  durationMs?: number;
  endedAt?: number;
  warnings?: string[];
  /** Those it has, and what holds each */
  limits?: Fields;
  /** headBytes, tailBytes */
  retain?: Fields;
}
export interface ListGroup {
  /** Rows; see list */
  sessions?: Row[];
}
export interface RowGroup {
  instanceId?: string;
  /** queued, starting, running, exited, ended */
  state?: string;
  startedAt?: number;
  runtimeMs?: number;
  cwd?: string;
  command?: string;
  /** While it has one */
  pid?: number;
  /** When its time-out ends it */
  deadlineAt?: number;
  /** Its worker's slot */
  worker?: number;
  endedAt?: number;
  /** The last 2000 bytes */
  tail?: string;
  /** Output was dropped */
  truncated?: boolean;
  droppedBytes?: number;
  exited?: boolean;
  /** Its output is at its end, too */
  closed?: boolean;
  backgrounded?: boolean;
  notifyOnExit?: boolean;
  exitNotified?: boolean;
  /** Absent: none */
  scopeKey?: string;
  /** As the call said */
  sessionKey?: string;
  limits?: Fields;
  retain?: Fields;
  spill?: Fields;
  lane?: string;
  /** The session in which its client ran, of the same scope */
  parentSession?: string;
  label?: string;
  tags?: Fields;
}
export interface MetGroup {
  /** Of wait */
  met?: string | null;
  /** Of wait: the position to go on from */
  next?: number;
  /** Of wait: bytes that could not be looked at */
  dropped?: number;
  /** Of text and regex: where */
  at?: number;
  /** Of them: what, cut to 512 bytes */
  matched?: string;
}
export interface PollGroup {
  /** What is new; raw: its bytes */
  output?: string | Uint8Array;
  /** The position behind it */
  next?: number;
  /** Bytes missing before it for good */
  dropped?: number;
  /** Bytes left out that log still shows */
  omitted?: number;
  /** The command has exited */
  exited?: boolean;
  /** Its output is at its end, too */
  closed?: boolean;
  /** For the ack of the next poll */
  ack?: string;
  /** When to poll again: 5 s after output, then 10, 30, 60 s */
  retryInMs?: number;
  /** Once it ended */
  durationMs?: number;
  /** [position, ms since 1970]: from there on output began to arrive then (to 10 ms); 0: that is not known any more */
  times?: unknown[][];
}
export interface LogGroup {
  /** The text; raw: the bytes of the page */
  output?: string | Uint8Array;
  /** As totalLines */
  total?: number;
  /** Retained */
  totalLines?: number;
  /** Bytes retained */
  totalChars?: number;
  /** Of the page, from 0 */
  firstLine?: number;
  /** On the page */
  lines?: number;
  /** Output was dropped */
  truncated?: boolean;
  droppedBytes?: number;
  /** The line before the gap between the beginning and the end kept */
  gapAt?: number | null;
  /** Whose stream is not known any more */
  mixedBytes?: number;
  /** Where one answer (1 MiB) did not hold all */
  nextOffset?: number;
  /** With grep or regex: in all */
  matchedLines?: number;
  /** Of those shown */
  lineNumbers?: number[];
}
export interface WaitGroup {
  /** exit, text, regex, idle, bytes, input, of several sessions that differ several, or timeout */
  met?: string;
}
export interface FeedGroup {
  /** Bytes */
  accepted?: number;
  /** Bytes that the command has not read */
  queued?: number;
  /** Bytes of stdin accepted so far */
  position?: number;
  stdinWritable?: boolean;
}
export interface KeysGroup {
  /** Of keys and hex items */
  warnings?: string[];
}
export interface SizeGroup {
  cols?: number;
  rows?: number;
}
export interface ScreenGroup {
  lines?: string[];
  /** row, col, from 0; visible */
  cursor?: Fields;
  /** The screen of full-screen programs */
  alternate?: boolean;
  title?: string;
  /** The position up to which it is drawn: poll since there waits for what comes */
  next?: number;
  /** Not drawn: not retained */
  droppedBytes?: number;
  /** Bytes or sizes are missing, so what was drawn before them and not again is blank */
  approximate?: boolean;
  /** Over 1 MiB: the last lines are missing */
  truncated?: boolean;
  /** With cells */
  runs?: unknown[][];
}
export interface KillGroup {
  signal?: string;
  /** Processes the server or the box adopted that nobody can attribute; 0 where a control group vouches for the session */
  unattributed?: number;
}
export interface KillScopeGroup {
  /** How many were live */
  sessions?: number;
  ended?: number;
  /** Processes of the ended ones still alive */
  remaining?: number;
}
export interface LanesGroup {
  /** Of list: rows as lane */
  lanes?: Fields[];
  /** Of list: the lanes there are */
  total?: number;
  /** Of list: name, width, active, reserved, lanes */
  groups?: Fields[];
  /** Of all else */
  op?: string;
  /** name, width, configuredWidth, active, queued, queueMax, generation, paused, draining, older (running, of older generations), in a group also group, groupWidth, groupActive, reserve; while somebody waits or nobody could start also blockedBy (paused, width, group or reserved: by the group's other lanes) and blockers (sessionId, instanceId, state, ageMs, scopeKey, sessionKey, lane; at most 16) */
  lane?: Fields;
  /** Of clear and reset */
  cleared?: number;
  /** Of drain */
  drained?: boolean;
}
export type Row = SessionGroup & NamedGroup & ExitGroup & InputGroup & QueueGroup & TerminalGroup & UncertainGroup & TotalGroup & UsageGroup & RowGroup & MetGroup;
/** Names the connection's scope, once, before anything else */
export interface HelloParams {
  /** Who is calling, for the log and psup status */
  client?: string;
  /** The protocol version the client speaks */
  protocol?: number;
  /** Binds the connection to this scope for good */
  scope?: string;
  /** A scope token, 64 hex digits, as mintToken gave it: binds the connection to the token's scope for good */
  token?: string;
  /** false: this client has no process tool; exec runs synchronously and ignores yieldMs and background */
  process?: boolean;
  /** As of defaults; likewise baseDir and umask */
  baseEnv?: Record<string, Data | undefined>;
  /** As of defaults */
  baseDir?: string;
  /** As of defaults */
  umask?: string;
}
export interface HelloAnswer {
  /** The server's version */
  server: string;
  /** The protocol version it speaks */
  protocol: number;
  /** 16 hex digits, new for every keeper */
  incarnation: string;
  /** The scope in force; nil: admin */
  scope: string | null;
  /** The master's pid */
  pid: number;
}
/** What exec on this connection takes where a call does not say: sent once, an environment does not travel with every call */
export interface DefaultsParams {
  /** As of exec */
  baseEnv?: Record<string, Data | undefined>;
  /** As of exec; absolute */
  baseDir?: string;
  /** As of exec */
  umask?: string;
}
export interface DefaultsAnswer {
  /** What is kept of it now, and counts with the scope's memory */
  bytes: number;
}
/** Runs a command as a session and answers at the first of: its end, the end of the yield window, background, cancel */
export interface ExecParams {
  /** One shell string */
  command?: string;
  /** A program and its arguments, no shell */
  argv?: string[];
  /** An existing directory, taken literally; only ~ and ~/... expand */
  workdir?: string;
  /** The client's own directory, used where workdir is absent or relative */
  baseDir?: string;
  /** The command's file mode creation mask, in octal digits: 0 to 0777 */
  umask?: string;
  /** Variables added to the base environment; values are literal */
  env?: Record<string, string | undefined>;
  /** The client's own environment, the base of the command's; values may be any bytes */
  baseEnv?: Record<string, Data | undefined>;
  /** The same key again starts nothing twice and gives the first one's answer; kept as long as the session */
  requestKey?: string;
  /** How long to wait in the foreground before the session goes to the background, in ms; nil: until it ends */
  yieldMs?: number | null;
  /** Answer at once with the session id; a start that hangs is waited for a second */
  background?: boolean;
  /** Seconds of life in all, the background part included, what it waited to be started not; 0: no limit */
  timeout?: number;
  /** The same parameter as timeout */
  timeoutSeconds?: number;
  /** Seconds of silence after which the command is ended; 0: no limit */
  noOutputTimeout?: number;
  /** Is the exit event of a backgrounded session one to be told? false: it is quiet; true: it is not, whatever ends it */
  notifyOnExit?: boolean;
  /** open (the default: [exec] stdin): a pipe that write can feed; closed: EOF at once; {text}: that text, then EOF */
  stdin?: 'open' | 'closed' | {text: string};
  /** The queue the session waits in: main, subagent, cron:<job>, session:<key>, or a name of your own */
  lane?: string;
  /** 1 foreground, 0 normal, -1 background */
  priority?: number;
  /** The scope the session belongs to; only an admin connection may choose */
  scope?: string;
  /** The conversation it belongs to; shown, not interpreted */
  sessionKey?: string;
  /** Shown by list and psup-top */
  label?: string;
  /** Kept with the record */
  tags?: Record<string, string | undefined>;
  /** true: send session and output notifications while the request is under way, without losing a byte: the command is slowed to this connection's pace */
  stream?: boolean | 'tail';
  /** A terminal instead of pipes: stdin, stdout and stderr are one, output is stream stdout */
  pty?: boolean;
  /** Columns of the terminal; resize changes them */
  cols?: number;
  /** Lines of the terminal */
  rows?: number;
  /** Out of the sandbox, where [elevated] lets the scope; else refused */
  elevated?: boolean;
  /** off, on-miss or always: whether a person is asked before an elevated command */
  ask?: string;
  /** full, allowlist or deny: what may run elevated */
  security?: string;
  /** auto: sandbox where [sandbox] mode covers the scope, else gateway, which is this machine */
  host?: string;
  /** memoryBytes, pids (of the session), cpuSeconds, fileSizeBytes, openFiles, nice (of each process) */
  limits?: Fields;
  /** How output is shown in text and aggregated: clean, ansi, shown, plain; section 6 */
  text?: string;
  /** headBytes (0 to 16777216) of the output's beginning and tailBytes (4096 to 16777216) of its end that stay in memory */
  retain?: Fields;
  /** path, maxBytes: a new file (mode 0600) that gets every byte of output, stdout and stderr as they come, up to maxBytes (config, 1 GiB) */
  spill?: Fields;
}
export interface ExecAnswer {
  /** For the model: the output, or what happened */
  text: string;
  /** Fields of its groups */
  details: SessionGroup & NamedGroup & FailureGroup & ExitGroup & InputGroup & QueueGroup & TerminalGroup & UncertainGroup & OutputGroup & TotalGroup & UsageGroup & SpillGroup & ExecGroup;
  /** details.status is failed */
  isError: boolean;
}
/** The backgrounded sessions of the scope, running and finished, newest start first */
export interface ListParams {
  /** Also foreground sessions (admin connections) */
  all?: boolean;
  /** At most so many rows */
  limit?: number;
  /** Only these of each row; the text is then the number of rows alone */
  fields?: string[];
  /** Also what running sessions use now (the first 1000 rows): cpuMs, maxRssBytes (the most that one of its processes has had), rssBytes, ioBytes, pids */
  usage?: boolean;
  /** Only these */
  sessionIds?: string[];
  /** Only those that stand or ended so; finished: all that ended */
  status?: string;
  /** Only of that lane */
  lane?: string;
  /** Only of that label; * stands for any text, ? for any character */
  label?: string;
  /** Only of that scope */
  scope?: string;
  /** Only with all of these tags: key, or key=value */
  tags?: string[];
  /** Only started then or later (ms since 1970) */
  sinceMs?: number;
  /** Only ended, or where they run started, by then */
  beforeMs?: number;
}
export interface ListAnswer {
  /** One line a session */
  text: string;
  /** Fields of its groups */
  details: SessionGroup & FailureGroup & ListGroup;
  isError: boolean;
}
/** New output since this reader's last poll, and the status */
export interface PollParams {
  /** Slug, or instance id */
  sessionId: string;
  /** Wait up to so many ms for output or the end */
  timeout?: number;
  /** Each reader has a cursor of its own, kept by the server */
  reader?: string;
  /** explicit: what this poll delivers counts as read only when the next poll of this reader passes its ack value (details.ack) here; else an ack value */
  ack?: string;
  /** A byte position: read from there, move no cursor */
  since?: number;
  /** At most so many bytes of output */
  maxBytes?: number;
  /** output as bin, the bytes as they are, instead of text */
  raw?: boolean;
  /** How output is shown: clean, ansi, shown, plain; section 6 */
  text?: string;
  /** Also what the session uses now, as in list */
  usage?: boolean;
  /** With since and raw: also times */
  times?: boolean;
}
export interface PollAnswer {
  /** The output and the state, for the model */
  text: string;
  /** Fields of its groups */
  details: SessionGroup & NamedGroup & FailureGroup & ExitGroup & InputGroup & TerminalGroup & UncertainGroup & OutputGroup & TotalGroup & UsageGroup & SpillGroup & PollGroup;
  isError: boolean;
}
/** Lines of the retained output */
export interface LogParams {
  /** Slug, or instance id */
  sessionId: string;
  /** First line, from 0 */
  offset?: number;
  /** At most so many lines */
  limit?: number;
  /** Only lines that began to arrive then or later (ms since 1970, to 10 ms; a line whose time is not known any more is older) */
  sinceMs?: number;
  /** stdout or stderr alone */
  stream?: string;
  /** How output is shown: clean, ansi, shown, plain; section 6 */
  text?: string;
  /** details.output holds the bytes of the page as bin; without grep, regex and timestamps */
  raw?: boolean;
  /** Each line after the time at which it began to arrive (UTC, to 10 ms), or after - where that is not known any more */
  timestamps?: boolean;
  /** Only lines that hold this text, each after its number and a colon */
  grep?: string;
  /** The same by a regular expression (section 6), of each line by itself */
  regex?: string;
  /** So many lines around each that was found, after number and -; -- stands where lines are left out */
  context?: number;
}
export interface LogAnswer {
  /** The lines */
  text: string;
  /** Fields of its groups */
  details: SessionGroup & NamedGroup & FailureGroup & ExitGroup & InputGroup & TotalGroup & LogGroup;
  isError: boolean;
}
/** Waits, in one bounded call, until sessions have ended or a condition is met: a session is waited for no longer once any one of those given here holds */
export interface WaitParams {
  /** One session */
  sessionId?: string;
  /** Several */
  sessionIds?: string[];
  /** any or all of several */
  mode?: string;
  /** In ms */
  timeout?: number;
  /** Until the output has this text */
  text?: string;
  /** Until this regular expression matches the output (section 6) */
  regex?: string;
  /** Until so many ms went by since the last output, the last input, or the start */
  idleMs?: number;
  /** Until there are so many bytes of output after since */
  bytes?: number;
  /** Until it is waitingForInput, as in poll */
  input?: boolean;
  /** The byte position where text, regex and bytes begin; -1: where the output ends now */
  since?: number;
  /** text and regex see terminal sequences and CR as they are */
  raw?: boolean;
}
export interface WaitAnswer {
  text: string;
  /** Fields of its groups */
  details: SessionGroup & FailureGroup & ListGroup & WaitGroup;
  isError: boolean;
}
/** Feeds a running session's stdin */
export interface WriteParams {
  /** Slug, or instance id */
  sessionId: string;
  /** Bytes; text is UTF-8 */
  data?: Data;
  /** Close stdin after the data; a terminal gets ^D and stays open */
  eof?: boolean;
  /** Wait up to so many ms for room in the session's queue */
  timeout?: number;
  /** Where in the session's stdin the data begins (details.position of the write before, 0 at first): what was accepted already is left out, so a write repeated after a lost answer gives no byte twice */
  position?: number;
}
export interface WriteAnswer {
  text: string;
  /** Fields of its groups */
  details: SessionGroup & NamedGroup & FailureGroup & UncertainGroup & FeedGroup;
  isError: boolean;
}
/** Sends keys to a running session, as its terminal would */
export interface SendKeysParams {
  /** Slug, or instance id */
  sessionId: string;
  /** Key tokens: C-c, M-x, up, S-f5, ^D, a character, other text */
  keys?: string[];
  /** Bytes as one or two hex digits each, 0x in front or not */
  hex?: string[];
  /** Bytes sent as they are; text is UTF-8 */
  literal?: Data;
  /** Wait so long between keys (literal is one, each hex byte is one); answered when the last one is queued */
  delayMs?: number;
  /** Send cursor keys though the terminal's cursor-key mode is not known yet, as in the normal mode */
  force?: boolean;
}
export interface SendKeysAnswer {
  text: string;
  /** Fields of its groups */
  details: SessionGroup & NamedGroup & FailureGroup & UncertainGroup & FeedGroup & KeysGroup;
  isError: boolean;
}
/** Sends data, where given, and then a carriage return: the Enter key */
export interface SubmitParams {
  /** Slug, or instance id */
  sessionId: string;
  /** Bytes; text is UTF-8 */
  data?: Data;
}
export interface SubmitAnswer {
  text: string;
  /** Fields of its groups */
  details: SessionGroup & NamedGroup & FailureGroup & UncertainGroup & FeedGroup;
  isError: boolean;
}
/** Sends text as a terminal pastes it */
export interface PasteParams {
  /** Slug, or instance id */
  sessionId: string;
  /** Bytes; text is UTF-8 */
  text?: Data;
  /** Between ESC[200~ and ESC[201~ */
  bracketed?: boolean;
}
export interface PasteAnswer {
  text: string;
  /** Fields of its groups */
  details: SessionGroup & NamedGroup & FailureGroup & UncertainGroup & FeedGroup;
  isError: boolean;
}
/** Changes the size of a session's terminal; its programs are told by SIGWINCH */
export interface ResizeParams {
  /** Slug, or instance id */
  sessionId: string;
  /** Columns */
  cols: number;
  /** Lines */
  rows: number;
}
export interface ResizeAnswer {
  text: string;
  /** Fields of its groups */
  details: SessionGroup & FailureGroup & SizeGroup;
  isError: boolean;
}
/** Sends a session that still belongs to its exec request to the background: the exec is answered as at the end of its yield window */
export interface BackgroundParams {
  /** Slug, or instance id */
  sessionId: string;
}
export interface BackgroundAnswer {
  text: string;
  /** Fields of its groups */
  details: SessionGroup & FailureGroup;
  isError: boolean;
}
/** What the session's terminal shows, drawn again from its retained output: nothing is kept for it before it is asked for */
export interface ScreenParams {
  /** Slug, or instance id */
  sessionId: string;
  /** Without blanks at the ends of lines and blank lines at the end of text */
  trim?: boolean;
  /** Also runs: for each line its stretches of one look, {text, fg, bg, bold, underline, italic, blink, reverse, strike}; a colour is 0..255 or #rrggbb, what is absent is default or off */
  cells?: boolean;
}
export interface ScreenAnswer {
  /** The lines */
  text: string;
  /** Fields of its groups */
  details: SessionGroup & NamedGroup & FailureGroup & SizeGroup & ScreenGroup;
  isError: boolean;
}
/** Ends a running session with everything it started: a signal, grace, SIGKILL until nothing is left */
export interface KillParams {
  /** Slug, or instance id */
  sessionId: string;
  /** A name with or without SIG, or a number */
  signal?: string | number;
  /** From the signal to SIGKILL; 0: SIGKILL at once */
  graceMs?: number;
  /** Answer when it is over */
  wait?: boolean;
  /** false: send only the signal, and to the process group alone, as a terminal's Ctrl-C does */
  escalate?: boolean;
  /** A random number that names this kill, for a caller whose answer gets lost: the session's last one is answered again and not done again */
  killId?: number;
}
export interface KillAnswer {
  text: string;
  /** Fields of its groups */
  details: SessionGroup & NamedGroup & FailureGroup & ExitGroup & KillGroup;
  isError: boolean;
}
/** Ends all sessions of a scope, queued ones included, as kill does */
export interface KillScopeParams {
  /** Whose sessions; an admin connection must name it */
  scope?: string;
  /** A name with or without SIG, or a number */
  signal?: string | number;
  /** From the signal to SIGKILL; 0: SIGKILL at once */
  graceMs?: number;
  /** Answer when it is over */
  wait?: boolean;
}
export interface KillScopeAnswer {
  text: string;
  /** Fields of its groups */
  details: SessionGroup & FailureGroup & KillScopeGroup;
  isError: boolean;
}
/** Forgets a finished session and its output */
export interface ClearParams {
  /** Slug, or instance id */
  sessionId: string;
}
export interface ClearAnswer {
  text: string;
  /** Fields of its groups */
  details: SessionGroup & FailureGroup;
  isError: boolean;
}
/** Ends a running session and forgets it; forgets a finished one */
export interface RemoveParams {
  /** Slug, or instance id */
  sessionId: string;
}
export interface RemoveAnswer {
  text: string;
  /** Fields of its groups */
  details: SessionGroup & NamedGroup & FailureGroup;
  isError: boolean;
}
/** Events not acknowledged by this subscriber yet, oldest first */
export interface EventsParams {
  /** Whose place */
  subscriber?: string;
  /** Events with a larger sequence number, acknowledged or not */
  since?: number;
  /** These alone: some of exited, lost, started, timeout-warning, worker-restarted, lane-wait; all */
  kinds?: string[];
  /** At most so many */
  limit?: number;
}
export interface EventsAnswer {
  /** As in the event notification */
  events: EventNote[];
  /** Ends of this scope that were dropped unacknowledged, ever */
  overflowed: number;
  /** This subscriber's place */
  acknowledged: number;
}
/** Sends event notifications on this connection: first what this subscriber has not acknowledged, then each as it happens */
export interface SubscribeParams {
  /** Whose place */
  subscriber?: string;
  /** Begin after this sequence number instead */
  since?: number;
  /** As in events */
  kinds?: string[];
}
export interface SubscribeAnswer {
  /** This subscriber's place */
  acknowledged: number;
  /** As in events */
  overflowed: number;
}
/** Acknowledges every event up to a number */
export interface AckParams {
  /** Whose place */
  subscriber?: string;
  /** The last one handled */
  seq: number;
}
export interface AckAnswer {
  /** This subscriber's place */
  acknowledged: number;
}
/** The lanes and what an operator may do to one */
export interface LanesParams {
  /** list; set-width (nil: as configured again); pause: nobody starts; resume: ends pause and drain; clear: who waits fails with exitReason lane-cleared, who runs goes on; reset: clear, and who runs goes on without holding a place, in a lane of a new generation; drain: new sessions are refused, answered when nobody runs or waits any more */
  op?: string;
  /** Which one */
  lane?: string;
  /** For set-width */
  width?: number | null;
  /** For drain: answer after so many ms at the latest; the lane goes on draining */
  timeout?: number;
}
export interface LanesAnswer {
  /** One line a lane, or what was done */
  text: string;
  /** Fields of its groups */
  details: SessionGroup & FailureGroup & LanesGroup;
  isError: boolean;
}
/** The server's state */
export interface StatusParams {
}
export interface StatusAnswer {
  /** Of a scoped connection */
  scope?: string;
  /** pid, startedAt, sessions, maxSessions; build: its version; layouts: the version of everything it shares with others */
  keeper?: Fields;
  /** pid, generation, connections, requests, build, layouts */
  master?: Fields;
  /** slot, pid, generation, role, sessions, heartbeatAgeMs, restarts, build, layouts */
  workers?: Fields[];
  /** What the master is worth to the scheduler: cpuWeight of its control group where one of its own lies beside its commands', which has 100, or else autogroupNice, where each command's has 0; nice; beforeCommands: it comes before them, by the first of those that is there */
  scheduling?: Fields;
  /** The last one, or the one under way: as upgrade answers */
  upgrade?: Fields;
  /** Counts by state: queued, starting, running, exited, ended */
  sessions?: Fields;
  /** The boxes of host sandbox: total, inside (sessions in them), and how many are making, in setup, ready, draining, failed */
  boxes?: Fields;
  /** What bounds running sessions, 0: nothing */
  admission?: Fields;
  /** What all scopes use together: resource (memory, connections, sessions, waiting, output), limit, used; of all: scopes (how many use it), refused (asks, by this master), heaviest (scope, or user of connections without a hello; used); of a scoped connection: what its scope has used, and fair, its share */
  shares?: Fields[];
  /** budgetBytes, usedBytes: lent to running sessions, or taken by ended ones */
  output?: Fields;
  /** name, width, active, queued, generation, paused, draining, group */
  lanes?: Fields[];
  /** kill: v2, v1 or none, what holds a session's processes together; path; limits: what holds memoryBytes and pids */
  cgroup?: Fields;
  /** Scopes that take no new sessions */
  draining?: string[];
  /** feature, reason: what this machine or build cannot do */
  unavailable?: Fields[];
  runtimeDir?: string;
  version?: string;
}
/** Which host a call of exec would get and why, and what its box would be made of */
export interface ExplainSandboxParams {
  /** Whose call; only an admin connection may choose */
  scope?: string;
  /** As exec has it */
  host?: string;
  /** As exec has it */
  elevated?: boolean;
  /** As exec has it */
  ask?: string;
  /** As exec has it */
  security?: string;
}
export interface ExplainSandboxAnswer {
  text: string;
  /** status; scope; covered: by [sandbox] mode; host: gateway, sandbox, or none, a refusal; reason */
  details: Fields;
  isError: boolean;
}
/** The boxes that there are */
export interface SandboxesParams {
  /** This one alone, by its name */
  box?: string;
}
export interface SandboxesAnswer {
  /** One line a box */
  text: string;
  /** status; boxes (box: its name, agent SCOPE, session NUMBER or shared; state: making, setup, ready, draining, failed or gone; pid of its first process, 0 before there is one; inside: sessions in it; madeAt; ageMs; backend to maxAgeMin as explainSandbox has them; memoryBytes, pids, cpusPercent, where it is bounded; memoryBy, pidsBy, cpusBy: cgroup-v1 or cgroup-v2, which bound it as a whole, rlimit, or none: not held to; why: of a failed one) */
  details: Fields;
  isError: boolean;
}
/** Boxes take nobody in any more, and end once they are empty */
export interface PruneSandboxesParams {
  /** This one alone, by its name */
  box?: string;
}
export interface PruneSandboxesAnswer {
  text: string;
  /** status; pruned: how many */
  details: Fields;
  isError: boolean;
}
/** The scope takes no new sessions from now on, also after a restart of the master, until undrainScope; those that run or are queued are waited for */
export interface DrainScopeParams {
  /** The scope */
  scope: string;
  /** Wait so many ms for its sessions to end */
  timeout?: number;
  /** Then end the rest, as killScope does, and wait for that */
  kill?: boolean;
  /** From SIGTERM to SIGKILL; 0: SIGKILL at once */
  graceMs?: number;
}
export interface DrainScopeAnswer {
  text: string;
  /** status (failed where anything is left), scope, drained, sessions (how many were live), left, survivors (ids, the first 100) */
  details: Fields;
  /** Something is left */
  isError: boolean;
}
/** The scope takes new sessions again */
export interface UndrainScopeParams {
  /** The scope */
  scope: string;
}
export interface UndrainScopeAnswer {
  text: string;
  /** status, scope, wasDrained */
  details: Fields;
  isError: boolean;
}
/** Makes a token that binds whoever shows it in hello to one scope */
export interface MintTokenParams {
  /** The scope */
  scope: string;
  /** What listTokens shows beside it */
  label?: string;
}
export interface MintTokenAnswer {
  /** 64 hex digits: 256 random bits */
  token: string;
  /** Names it from now on; 16 hex digits */
  id: string;
  scope: string;
  /** Wall clock, ms */
  createdAt: number;
}
/** The tokens that are valid */
export interface ListTokensParams {
  /** Of this scope alone */
  scope?: string;
}
export interface ListTokensAnswer {
  /** id, scope, label, createdAt */
  tokens: Fields[];
}
/** Makes tokens invalid and closes the connections that showed them */
export interface RevokeTokenParams {
  /** This one */
  id?: string;
  /** All of this scope */
  scope?: string;
}
export interface RevokeTokenAnswer {
  /** How many */
  revoked: number;
}
/** Other programs take over: the workers one by one, the master, then the keeper in place */
export interface UpgradeParams {
  /** Absolute: the directory of the new psupd, or its path; psup-master and psup-worker lie beside it, or in ../libexec/psup */
  binaryDir?: string;
  /** 16 hex digits that name this upgrade in status, for a caller whose answer gets lost: the last one is not begun again, its answer comes again */
  id?: string;
  /** How long a new process may take to be ready; then the old programs come back */
  readyMs?: number;
}
export interface UpgradeAnswer {
  /** 16 hex digits; status.upgrade has the same */
  id?: string;
  /** workers, master, keeper: under way */
  phase?: string;
  /** The version that runs */
  from?: string;
  /** The version that takes over */
  to?: string;
  /** Running ones, all of them kept */
  sessions?: number;
  /** Processes, so far */
  replaced?: number;
  /** Since it began; in all */
  ms?: number;
  /** Of what was refused or undone */
  why?: string;
}
/** Ends every command by the stop ladder, then the server */
export interface ShutdownParams {
  /** Of the ladder */
  graceMs?: number;
}
export interface ShutdownAnswer {
  /** The keeper's; wait for it to be gone */
  pid: number;
}
/** A streamed exec has a session */
export interface SessionNote {
  /** Of the exec */
  msgid: number;
  sessionId: string;
  instanceId: string;
  /** queued, running */
  state: string;
  pid: number | null;
  /** It has a terminal; once it runs, false where none could be had */
  pty?: boolean;
}
/** Output of a streamed exec, in order, complete */
export interface OutputNote {
  /** Of the exec */
  msgid: number;
  /** stdout, stderr or mixed */
  stream: string;
  /** Position of its first byte */
  pos: number;
  /** The bytes */
  data: Uint8Array;
  /** Bytes missing before it (after a stall of 30 s, or a full tmpfs) */
  dropped?: number;
}
/** How the output of an exec with stream tail stands: at most one a second, where there is more than the last one said */
export interface TailNote {
  /** Of the exec */
  msgid: number;
  /** Of output so far */
  bytes: number;
  /** The last line that is not blank, clean, its last 200 bytes */
  line: string;
}
/** See subscribe */
export interface EventNote {
  /** Only grows */
  seq: number;
  /** exited, lost: the end of a session; started, timeout-warning, worker-restarted, lane-wait (more kinds will come: ignore those you do not know) */
  kind: string;
  sessionId?: string;
  instanceId?: string;
  scope?: string;
  sessionKey?: string | null;
  /** Wall clock, ms */
  at?: number;
  /** Exec completed (nova-gulf, code 0) :: <end of the output> */
  text?: string;
  /** completed, failed, killed or lost */
  status?: string;
  exitCode?: number | null;
  exitSignal?: string | null;
  exitReason?: string;
  /** An agent need not be woken for it */
  quiet?: boolean;
  /** Of a quiet one */
  quietReason?: string;
  /** Of started */
  pid?: number;
  /** Of timeout-warning: when the command will be ended; wall clock, ms */
  deadlineAt?: number;
  /** Of worker-restarted: its slot */
  worker?: number;
  /** Of lane-wait, sent once for each wait of 2 s (lane_warn_ms): lane, waitedMs, queuePosition, queued, active, width, blockedBy (as in lanes; for a place to run: as queuedFor, and lane only where it has one), group, groupActive, groupWidth, blockers (as in lanes, as the session's own scope may see them) */
  wait?: Fields;
}
export interface Methods {
  'hello': [HelloParams, HelloAnswer];
  'defaults': [DefaultsParams, DefaultsAnswer];
  'exec': [ExecParams, ExecAnswer];
  'list': [ListParams, ListAnswer];
  'poll': [PollParams, PollAnswer];
  'log': [LogParams, LogAnswer];
  'wait': [WaitParams, WaitAnswer];
  'write': [WriteParams, WriteAnswer];
  'send-keys': [SendKeysParams, SendKeysAnswer];
  'submit': [SubmitParams, SubmitAnswer];
  'paste': [PasteParams, PasteAnswer];
  'resize': [ResizeParams, ResizeAnswer];
  'background': [BackgroundParams, BackgroundAnswer];
  'screen': [ScreenParams, ScreenAnswer];
  'kill': [KillParams, KillAnswer];
  'killScope': [KillScopeParams, KillScopeAnswer];
  'clear': [ClearParams, ClearAnswer];
  'remove': [RemoveParams, RemoveAnswer];
  'events': [EventsParams, EventsAnswer];
  'subscribe': [SubscribeParams, SubscribeAnswer];
  'ack': [AckParams, AckAnswer];
  'lanes': [LanesParams, LanesAnswer];
  'status': [StatusParams, StatusAnswer];
  'explainSandbox': [ExplainSandboxParams, ExplainSandboxAnswer];
  'sandboxes': [SandboxesParams, SandboxesAnswer];
  'pruneSandboxes': [PruneSandboxesParams, PruneSandboxesAnswer];
  'drainScope': [DrainScopeParams, DrainScopeAnswer];
  'undrainScope': [UndrainScopeParams, UndrainScopeAnswer];
  'mintToken': [MintTokenParams, MintTokenAnswer];
  'listTokens': [ListTokensParams, ListTokensAnswer];
  'revokeToken': [RevokeTokenParams, RevokeTokenAnswer];
  'upgrade': [UpgradeParams, UpgradeAnswer];
  'shutdown': [ShutdownParams, ShutdownAnswer];
}
export type Code =
  | 'bad-request'
  | 'frame-too-large'
  | 'limit-exceeded'
  | 'unknown-method'
  | 'invalid-params'
  | 'too-big'
  | 'unsupported'
  | 'forbidden'
  | 'not-found'
  | 'not-backgrounded'
  | 'not-running'
  | 'not-finished'
  | 'finalizing'
  | 'stdin-closed'
  | 'stdin-full'
  | 'cursor-mode-unknown'
  | 'line-too-long'
  | 'no-terminal'
  | 'no-space'
  | 'share-used-up'
  | 'refused-after-deaths'
  | 'queue-full'
  | 'deadlock'
  | 'lane-draining'
  | 'scope-draining'
  | 'overloaded'
  | 'bad-workdir'
  | 'output-lost'
  | 'runtime-gone'
  | 'cancelled'
  | 'stopping'
  | 'upgrade-refused'
  | 'busy'
  | 'internal'
  ;
