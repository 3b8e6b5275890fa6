// What a Node process really holds, and how late its event loop was: read through its inspector. How far a heap has grown
// since its last collection says nothing of a leak.
import { readFileSync } from 'node:fs';
import { MessageEvent, WebSocket } from 'undici';

/** For NODE_OPTIONS of the process; its inspector's address is then in its standard error. */
export const INSPECTED = '--inspect=127.0.0.1:0';

export interface Inspected {
  /** Live right after a collection, in MiB. */
  heap_mb: number;
  /** The 99th percentile of the event-loop delay since the previous reading; 0 for the first. */
  loop_delay_p99_ms: number;
}

const ADDRESS = /^Debugger listening on (ws:\S+)$/m;
const DEADLINE_MS = 30_000;
/** Kept in the process between two calls. The collection's own pause is none of the service's. */
const LOOP_DELAY = `(() => {
  const delays = globalThis.soakDelays ??= process.getBuiltinModule('node:perf_hooks')
    .monitorEventLoopDelay({ resolution: 10 });
  return Number.isFinite(delays.percentile(99)) ? delays.percentile(99) / 1e6 : 0;
})()`;
const LOOP_DELAY_ANEW = 'soakDelays.disable(); soakDelays.reset(); soakDelays.enable(); 0';

interface Answer {
  usedSize?: number;
  result?: { value?: number };
}

type Ask = (method: string, params?: object) => Promise<Answer>;

/** `log`: the file that the process's standard error goes to. */
export function inspected(log: string): Promise<Inspected> {
  return asking(log, read);
}

/** Has the process collect its garbage; `log` as for `inspected`. */
export function collectGarbage(log: string): Promise<void> {
  return asking(log, collect);
}

async function asking<T>(log: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const [, address] = ADDRESS.exec(readFileSync(log, 'utf8')) ?? [];
  if (!address) throw new Error('the process has no inspector');
  const inspector = new WebSocket(address);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  try {
    await heard(inspector, 'open', signal);
    return await work((method, params) => asked(inspector, { method, params }, signal));
  } finally {
    inspector.close();
  }
}

async function read(ask: Ask): Promise<Inspected> {
  const evaluated = (expression: string) => ask('Runtime.evaluate', { expression, returnByValue: true });
  const { result } = await evaluated(LOOP_DELAY);
  await collect(ask);
  const { usedSize = 0 } = await ask('Runtime.getHeapUsage');
  await evaluated(LOOP_DELAY_ANEW);
  return { heap_mb: usedSize / 1_048_576, loop_delay_p99_ms: Number(result?.value ?? 0) };
}

/** Twice: what only finalizers held goes with the second. */
async function collect(ask: Ask): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await ask('HeapProfiler.collectGarbage');
}

async function asked(inspector: WebSocket, question: object, signal: AbortSignal): Promise<Answer> {
  const answer = heard(inspector, 'message', signal);
  inspector.send(JSON.stringify({ id: 1, ...question }));
  const event = await answer;
  return JSON.parse(event instanceof MessageEvent ? `${event.data}` : '').result;
}

function heard(inspector: WebSocket, type: 'open' | 'message', signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error('the inspector does not answer', { cause: signal.reason }));
    inspector.addEventListener(type, resolve, { once: true });
    inspector.addEventListener('error', fail, { once: true });
    signal.addEventListener('abort', fail, { once: true });
  });
}
