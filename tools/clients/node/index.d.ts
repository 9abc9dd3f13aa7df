// SPDX-License-Identifier: MIT
import {EventEmitter} from 'node:events';
import {Readable, Writable} from 'node:stream';
import {Code, EventNote, Fields, HelloAnswer, Methods, OutputNote, SessionNote,
  TailNote} from './protocol.js';
export * from './protocol.js';

export class PsupError extends Error {
  code: Code | 'connection-lost' | 'no-server';
  /** The parameter at fault, where one is */
  field?: string;
  value?: string;
  expected?: string;
  details?: Fields;
}

export interface ConnectOptions {
  /** Binds to this scope; without one an administrator, who sees all */
  scope?: string;
  /** 64 hex digits, as mintToken gave it */
  token?: string;
  runtimeDir?: string;
  /** false: where none runs, fail at once instead of starting one */
  start?: boolean;
  /** The program to start; psupd in PATH */
  psupd?: string;
  /** Who is calling, for the log and psup status */
  client?: string;
  /** Of commands; default this process's as it is now, null the server's */
  env?: Record<string, string | undefined> | null;
  /** Whose place among the events */
  subscriber?: string;
  kinds?: string[];
  /** How long a server may be away (30 000) */
  patienceMs?: number;
  /** For what waits (8) */
  connections?: number;
  /** spawn() at once (256) */
  streams?: number;
  maxAnswerBytes?: number;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Notifications of this request */
  note?(name: 'session', params: SessionNote): void;
  note?(name: 'output', params: OutputNote): void;
  note?(name: 'tail', params: TailNote): void;
  note?(name: string, params: any): void;
}

export interface Chunk {
  data: Buffer;
  /** Position of its first byte */
  pos: number;
  /** Bytes missing before it for good */
  dropped: number;
}

export interface SpawnOptions {
  cwd?: string | URL;
  env?: Record<string, string | undefined>;
  shell?: boolean | string;
  stdio?: Stdio | Array<Stdio | null | undefined>;
  signal?: AbortSignal;
  /** ms */
  timeout?: number;
  /** Other parameters of exec: lane, label, limits, ... */
  psup?: Partial<Methods['exec'][0]>;
}
export type Stdio = 'pipe' | 'ignore' | 'inherit' | 'overlapped';

/** As node's ChildProcess: spawn, exit, close, error; and dropped (bytes) */
export interface Child extends EventEmitter {
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  readonly stdio: [Writable | null, Readable | null, Readable | null];
  readonly pid?: number;
  readonly sessionId?: string;
  readonly instanceId?: string;
  readonly exitCode: number | null;
  readonly signalCode: string | null;
  readonly killed: boolean;
  readonly spawnfile: string;
  readonly spawnargs: string[];
  /** Of the answer, once it ended */
  readonly details?: Methods['exec'][1]['details'];
  kill(signal?: string | number): boolean;
  ref(): void;
  unref(): void;
}

type Camel<S extends string> = S extends `${infer A}-${infer B}`
  ? `${A}${Capitalize<Camel<B>>}` : S;
type Calls = {
  [M in keyof Methods as M | Camel<M>]:
    (params?: Methods[M][0], options?: CallOptions) => Promise<Methods[M][1]>;
};

export interface Psup extends Omit<Calls, 'ack'> {}
/** A server. Events: event, reconnect, error */
export class Psup extends EventEmitter {
  static connect(options?: ConnectOptions): Promise<Psup>;
  constructor(options?: ConnectOptions);
  readonly server: HelloAnswer;
  /** What the server refuses is an answer, with isError and details.code */
  call<M extends keyof Methods>(method: M, params?: Methods[M][0],
    options?: CallOptions): Promise<Methods[M][1]>;
  output(sessionId: string, options?: {since?: number; maxBytes?: number;
    signal?: AbortSignal}): AsyncGenerator<Chunk, void, undefined>;
  spawn(file: string, options?: SpawnOptions): Child;
  spawn(file: string, args?: readonly string[], options?: SpawnOptions): Child;
  ack(seq: number | Methods['ack'][0], options?: CallOptions):
    Promise<Methods['ack'][1]>;
  on(name: 'event', listener: (event: EventNote) => unknown): this;
  on(name: string | symbol, listener: (...args: any[]) => unknown): this;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface ToolOptions {
  /** A Psup, or whoever gives one; without it `connect` makes one */
  psup?: Psup | Promise<Psup> | (() => Psup | Promise<Psup>);
  connect?: ConnectOptions;
  name?: string;
  description?: string;
}
export interface ExecToolOptions extends ToolOptions {
  /** The conversation: exit events carry it */
  sessionKey?: string;
  /** Of an administrator: the scope of its sessions */
  scopeKey?: string;
  cwd?: string;
  env?: Record<string, string | undefined>;
  lane?: string;
  backgroundMs?: number;
  timeoutSec?: number;
  notifyOnExit?: boolean;
  allowBackground?: boolean;
}
export interface ToolResult {
  content: Array<{type: 'text'; text: string}>;
  details: any;
}
export interface Tool {
  name: string;
  label: string;
  description: string;
  parameters: {type: 'object'; properties: Fields; required: string[]};
  /** Throws where signal was aborted, and only then */
  execute(id: string, args: Fields, signal?: AbortSignal,
    onUpdate?: (partial: ToolResult) => void): Promise<ToolResult>;
}
export function createExecTool(options?: ExecToolOptions): Tool;
export function createProcessTool(options?: ToolOptions): Tool;
/** The tool's arguments, flat */
export function schema(tool: 'exec' | 'process'): Tool['parameters'];
