// The memory of the monitors of emulated virtual machines as the kernel divides it (PSS): each one counts its share of
// pages that several map.
import { readdirSync, readFileSync } from 'node:fs';

/** The memory in MB of the monitors that name these sandboxes in their arguments. */
export function sharesMb(ids: readonly string[]): number {
  const sizes = monitorsOf(ids).map((pid) => pss(textOf(`/proc/${pid}/smaps_rollup`)));
  return sizes.reduce((sum, mb) => sum + mb, 0);
}

export interface MonitorParts {
  /** Code of the guest, translated. */
  translations: number;
  /** The guest's memory: what it has changed, and its share of the template's. */
  guest: number;
  /** QEMU itself. */
  rest: number;
}

/** The same by what it is for. */
export function monitorParts(ids: readonly string[]): MonitorParts {
  const maps = monitorsOf(ids).flatMap((pid) => textOf(`/proc/${pid}/smaps`).split(/^(?=[0-9a-f]+-)/m));
  const each = (wanted: (map: string) => boolean) =>
    maps.filter(wanted).reduce((sum, map) => sum + pss(map), 0);
  const isCode = (map: string) => firstLine(map).includes('tcg-jit');
  const isGuest = (map: string) => firstLine(map).endsWith('/memory');
  return {
    translations: each(isCode),
    guest: each(isGuest),
    rest: each((map) => !isCode(map) && !isGuest(map)),
  };
}

const firstLine = (map: string) => map.split('\n', 1)[0] ?? '';

/** The first one of a text, in MB. */
function pss(text: string): number {
  return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1]) / 1024;
}

function monitorsOf(ids: readonly string[]): string[] {
  const pids = readdirSync('/proc').filter(
    (pid) => /^\d+$/.test(pid) && ids.some((id) => isMonitor(pid, id)),
  );
  if (pids.length !== ids.length) throw new Error(`${pids.length} monitors of ${ids.length} sandboxes`);
  return pids;
}

function isMonitor(pid: string, id: string): boolean {
  const words = textOf(`/proc/${pid}/cmdline`).split('\0');
  return words[0]?.endsWith('qemu-system-x86_64') === true && words.some((word) => word.includes(id));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
