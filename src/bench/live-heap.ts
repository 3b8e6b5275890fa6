// What a Node process really holds: read through its inspector, after a collection. How far a heap has grown since its
// last one says nothing of a leak.
import { readFileSync } from 'node:fs';
import { MessageEvent, WebSocket } from 'undici';

/** For NODE_OPTIONS of the process; its inspector's address is then in its standard error. */
export const INSPECTED = '--inspect=127.0.0.1:0';

const ADDRESS = /^Debugger listening on (ws:\S+)$/m;
const DEADLINE_MS = 30_000;

/** In MiB. `log`: the file that the process's standard error goes to. */
export async function liveHeapMb(log: string): Promise<number> {
  const [, address] = ADDRESS.exec(readFileSync(log, 'utf8')) ?? [];
  if (!address) throw new Error('the process has no inspector');
  const inspector = new WebSocket(address);
  const signal = AbortSignal.timeout(DEADLINE_MS);
  try {
    await heard(inspector, 'open', signal);
    // Twice: what only finalizers held goes with the second.
    for (let turn = 0; turn < 2; turn += 1) await asked(inspector, 'HeapProfiler.collectGarbage', signal);
    return Number((await asked(inspector, 'Runtime.getHeapUsage', signal)).usedSize) / 1_048_576;
  } finally {
    inspector.close();
  }
}

async function asked(
  inspector: WebSocket,
  method: string,
  signal: AbortSignal,
): Promise<{ usedSize?: unknown }> {
  const answer = heard(inspector, 'message', signal);
  inspector.send(JSON.stringify({ id: 1, method }));
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
