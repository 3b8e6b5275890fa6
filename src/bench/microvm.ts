// P17, P18 and P19 of the speed table: virtual machines, emulated. Under emulation most of a restored guest's first
// command is the translation of code that the saved guest had translated already: translations are no part of its state.
import { readdirSync, readFileSync } from 'node:fs';
import type { Client } from '../client/client.ts';
import { firstCommand, firstOutput, type MicrovmWorld, spawned } from './microvm-world.ts';
import type { Pair } from './row.ts';

const CLONES = 4;

export function microvmPairs(world: MicrovmWorld): Pair[] {
  return [
    restorePair(world, { id: 'P17', image: 'busybox', target: 0.08 }),
    clonePair(world, { id: 'P19', when: 'that answers', before: async () => {} }),
    clonePair(world, {
      id: 'P19-used',
      when: 'after its first command',
      before: (id) => firstCommand(world.restoring, id),
    }),
  ];
}

export function restorePair(
  { restoring, booting }: MicrovmWorld,
  { id, image, target }: { id: string; image: string; target: number },
): Pair {
  return {
    id,
    name: `microVM restore + first command, emulated, ${image}, against a boot`,
    target,
    pairs: 15,
    warmUps: 1,
    ours: () => firstOutput(restoring),
    baseline: () => firstOutput(booting),
  };
}

export function bootPair({ booting }: MicrovmWorld, stock: Client): Pair {
  return {
    id: 'P18',
    name: "microVM boot + first command, emulated, busybox, against QEMU's default PC with the packed kernel",
    target: 0.7,
    pairs: 10,
    warmUps: 1,
    ours: () => firstOutput(booting),
    baseline: () => firstOutput(stock),
  };
}

/** What one costs when there are some already: pages that they share are there then. */
function clonePair(
  { restoring }: MicrovmWorld,
  { id, when, before }: { id: string; when: string; before(id: string): Promise<void> },
): Pair {
  const ids: string[] = [];
  const more = async () => {
    for (let n = 0; n < CLONES; n += 1) {
      const made = await spawned(restoring);
      ids.push(made);
      await before(made);
    }
    return sharesMb(ids);
  };
  return {
    id,
    name: `memory (PSS) of one more restored microVM of 256 MB ${when}, emulated`,
    target: 24,
    unit: 'MB',
    warmUps: 0,
    pairs: 3,
    ours: async () => {
      const some = await more();
      const all = await more();
      await Promise.all(ids.splice(0).map((each) => restoring.destroy(each)));
      return (all - some) / CLONES;
    },
  };
}

/** Of the monitors of these sandboxes, who name them in their arguments, in MB. */
function sharesMb(ids: readonly string[]): number {
  const pids = readdirSync('/proc').filter(
    (pid) => /^\d+$/.test(pid) && ids.some((id) => isMonitor(pid, id)),
  );
  if (pids.length !== ids.length) throw new Error(`${pids.length} monitors of ${ids.length} sandboxes`);
  const sizes = pids.map((pid) => Number(/^Pss:\s+(\d+)/m.exec(textOf(`/proc/${pid}/smaps_rollup`))?.[1]));
  return sizes.reduce((sum, kb) => sum + kb / 1024, 0);
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
