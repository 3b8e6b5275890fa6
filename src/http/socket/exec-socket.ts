// The WebSocket exec (docs/design/api.md#streams): the third writer over one running command. What the client sends
// waits for the program and what the program writes waits for the client: a side that stops reading stops the other, in
// bounded memory.
import type { WebSocket } from 'ws';
import type { LiveExec, LiveRequest } from '../../control/api/execs.ts';
import { ServiceError } from '../../domain/errors.ts';
import { signalWord, TIMED_OUT, timeoutNotice } from '../../domain/exec-request.ts';
import { encodeOutput, outputDecoder } from '../../domain/output.ts';
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import type { SocketAnswer, SocketAttach, SocketStart } from '../../schema/exec-socket.ts';
import { stdinFeed } from '../body/stdin-feed.ts';
import { errorAnswer, logFailure, toServiceError } from '../errors.ts';
import { keepAlive } from './socket-alive.ts';
import { SocketInput } from './socket-input.ts';
import { readMessage, readStart } from './socket-messages.ts';

const START_MS = 10_000;
/** How much may wait in the connection before the program does. */
const WAITING_BYTES = 256 * 1024;
const CHANNEL = { stdout: 1, stderr: 2 } as const;
const CLOSE = { done: 1000, refused: 1008, fault: 1011 } as const;

/** What every WebSocket is served with. */
export interface SocketTools {
  clock: Clock;
  logger: Logger;
  request_id: string;
}

export interface ExecSocketDeps extends SocketTools {
  sandbox_id: string;
  /** Starts the command; `signal` aborts when the client has disconnected. */
  open(request: LiveRequest, signal: AbortSignal): Promise<LiveExec>;
  /** Follows a command that was started with `keep`. */
  attach(exec_id: string, signal: AbortSignal): Promise<LiveExec & { truncated: boolean }>;
}

/** Serves until the command has ended or the client has disconnected. Never throws. */
export function serveExecSocket(ws: WebSocket, deps: ExecSocketDeps): void {
  const disconnected = new AbortController();
  const reason = () => new ServiceError('unavailable', 'The client closed the connection.');
  ws.once('close', () => disconnected.abort(reason()));
  // The close that follows reports invalid frames of the peer.
  ws.on('error', () => undefined);
  const input = new SocketInput(ws);
  const stopPings = keepAlive(ws, deps.clock);
  talk(ws, { ...deps, input, gone: disconnected.signal })
    .catch((error: unknown) => fail(ws, toServiceError(error), deps))
    .finally(stopPings);
}

type Talk = ExecSocketDeps & { input: SocketInput; gone: AbortSignal };

async function talk(ws: WebSocket, talk: Talk): Promise<void> {
  const { clock, input, gone, sandbox_id } = talk;
  const start = readStart(await first(input, clock, gone));
  const exec = await begin(start, talk);
  say(ws, {
    type: 'started',
    exec_id: exec.exec_id,
    ...(exec.startsAtInputEnd && { starts_at_stdin_end: true }),
    ...(exec.truncated && { truncated: true }),
  });
  const taking = obey(exec, input);
  // Failures are ignored once the command has ended.
  taking.catch(() => undefined);
  await Promise.race([taking, write(ws, exec, start)]);
  const { exit_code, signal, timed_out, duration_ms } = await Promise.race([taking, exec.exit]);
  if (timed_out) sayTimeout(ws, sandbox_id, start);
  say(ws, {
    type: 'exit',
    exit_code: timed_out ? TIMED_OUT : exit_code,
    duration_ms,
    ...(signal !== undefined && { signal }),
    ...(timed_out && { timed_out }),
  });
  ws.close(CLOSE.done);
}

async function begin(
  start: SocketStart | SocketAttach,
  { open, attach, gone }: Talk,
): Promise<LiveExec & { truncated?: boolean }> {
  if (start.type === 'start') return open(requestOf(start), gone);
  const exec = await attach(start.exec_id, gone);
  const { rows, cols } = start;
  if (rows !== undefined && cols !== undefined) await exec.resize(rows, cols).catch(ignoreEnded);
  return exec;
}

type Voice = Pick<SocketStart, 'binary' | 'encoding'>;

function sayTimeout(ws: WebSocket, sandbox_id: string, { binary, encoding = 'utf8' }: Voice): void {
  const notice = timeoutNotice(sandbox_id);
  if (!binary) say(ws, { type: 'stderr', data: encodeOutput(notice, encoding) });
  else if (ws.readyState === ws.OPEN)
    ws.send(Buffer.concat([Buffer.of(CHANNEL.stderr), Buffer.from(notice)]));
}

/** The first message, which must arrive soon: an idle connection serves nobody. */
function first(input: SocketInput, clock: Clock, gone: AbortSignal) {
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = clock.after(START_MS, () =>
      reject(new ServiceError('timeout', 'The client did not send a start message in time.')),
    );
    gone.addEventListener('abort', () => reject(gone.reason), { once: true });
  });
  return Promise.race([input.next(), late]).finally(() => timer?.cancel());
}

function requestOf({ type: _, binary: __, ...start }: SocketStart): LiveRequest {
  const { tty, cols = 80, rows = 24, keep, ...rest } = start;
  const request: LiveRequest = keep ? { ...rest, keep: '', mustKeep: true } : rest;
  return tty ? { ...request, tty: { cols, rows } } : request;
}

/** Carries out what the client says; rejects on the first that is wrong. Signals do not wait behind input. */
async function obey(exec: LiveExec, input: SocketInput): Promise<never> {
  const feed = stdinFeed(exec.stdin);
  for (;;) {
    const message = readMessage(await Promise.race([input.next(), feed.failed]));
    if (message.type === 'stdin') await feed.write(message.data);
    else if (message.type === 'stdin_close') feed.end();
    else if (message.type === 'resize') await exec.resize(message.rows, message.cols).catch(ignoreEnded);
    else await exec.signal(signalWord(message.signal)).catch(ignoreEnded);
  }
}

function ignoreEnded(error: unknown): void {
  if (toServiceError(error).code !== 'not_found') throw error;
}

async function write(ws: WebSocket, exec: LiveExec, { binary, encoding = 'utf8' }: Voice): Promise<void> {
  const decoders = { stdout: outputDecoder(encoding), stderr: outputDecoder(encoding) };
  for await (const { channel, data } of exec.output) {
    if (binary) {
      await send(ws, Buffer.concat([Buffer.of(CHANNEL[channel]), data]));
      continue;
    }
    const text = decoders[channel].write(data);
    if (text !== '') await send(ws, JSON.stringify({ type: channel, data: text }));
  }
  if (binary) return;
  for (const channel of ['stdout', 'stderr'] as const) {
    const text = decoders[channel].end();
    if (text !== '') say(ws, { type: channel, data: text });
  }
}

/** Resolves when there is room for more. */
async function send(ws: WebSocket, data: string | Buffer): Promise<void> {
  if (ws.readyState !== ws.OPEN) return;
  const sent = new Promise<void>((resolve) => ws.send(data, () => resolve()));
  if (ws.bufferedAmount > WAITING_BYTES) await sent;
}

function say(ws: WebSocket, message: SocketAnswer): void {
  if (ws.readyState === ws.OPEN) ws.send(JSON.stringify(message));
}

function fail(ws: WebSocket, error: ServiceError, { logger, request_id }: ExecSocketDeps): void {
  if (ws.readyState !== ws.OPEN) return;
  logFailure(logger, error, request_id);
  const { code, message, details } = errorAnswer(error, request_id).body;
  say(ws, { type: 'error', code, message, ...(details && { details }) });
  ws.close(error.status >= 500 ? CLOSE.fault : CLOSE.refused);
}
