// Who holds the database: the note beside its lock, believed only as far as the process it names is alive. The lock itself
// is not tried: trying it would keep a server from starting at that moment.
import type { Host } from '../../host/host.ts';

const NOTE_BYTES = 4096;
const PLAIN_ADDRESS = /^[\w.:[\]/-]{1,200}$/;

export interface LockOwner {
  pid: number;
  address?: string;
}

/** Undefined when nobody does. */
export async function lockOwner(host: Host, database: string): Promise<LockOwner | undefined> {
  const note = await host.read(`${database}.lock.json`, NOTE_BYTES);
  const holder = note && parsed(note.toString('utf8'));
  return holder && (await host.stat(`/proc/${holder.pid}`)) ? holder : undefined;
}

function parsed(text: string): LockOwner | undefined {
  try {
    const { pid, address } = JSON.parse(text) as Record<string, unknown>;
    if (!Number.isSafeInteger(pid)) return undefined;
    const isPlain = typeof address === 'string' && PLAIN_ADDRESS.test(address);
    return { pid: pid as number, ...(isPlain && { address }) };
  } catch {
    return undefined;
  }
}
