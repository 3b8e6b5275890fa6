// P17, P18 and P19 of the speed table: virtual machines, emulated. Under emulation most of a restored guest's first
// command is the translation of code that the saved guest had translated already: its state does not contain translations.
import type { Client } from '../src/client/client.ts';
import { firstCommand, firstOutput, type MicrovmWorld, spawned } from './microvm-world.ts';
import { type MonitorParts, monitorParts, sharesMb } from './monitor-memory.ts';
import type { Pair } from './row.ts';
import { quantile } from './stats.ts';

const CLONES = 4;
/** Starts that are looked at in their parts. */
const LOOKS = 5;
/** Medians of 16 starts of each with busybox, one after the other, and the memory of three more of each. */
const TRIED_START =
  'Three designs were tried with busybox, in turn with the present one (222 to 233 ms): processors that are emulated in turn by one thread (236 ms), an older model of processor (235 ms), and a buffer of 16 MB for translated code (225 ms).';
const TRIED_MEMORY =
  'Three designs were tried in turn with the present one (28.7 to 28.9 MB): a buffer of 16 MB for translated code (29.1 MB), an older model of processor, which needs less translation (28.1 MB), and one arena of the allocator that gives memory back at once (29.0 MB). Guests share the memory of their template already.';

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
    limit: () => partsOfStart(restoring),
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
    limit: () => partsOfMemory(restoring),
  };
}

/** How a start divides, and what of its first command comes once only. */
async function partsOfStart(restoring: Client): Promise<string> {
  const parts: Record<'answers' | 'first' | 'second', number[]> = { answers: [], first: [], second: [] };
  for (let n = 0; n < LOOKS; n += 1) {
    const began = performance.now();
    const id = await spawned(restoring);
    parts.answers.push(performance.now() - began);
    parts.first.push(await command(restoring, id));
    parts.second.push(await command(restoring, id));
    await restoring.destroy(id);
  }
  const [answers, first, second] = Object.values(parts).map((all) => `${quantile(all, 0.5).toFixed(0)} ms`);
  return `the guest answers after ${answers}. Its first command takes ${first} and the second one ${second}: without KVM, QEMU translates the kernel's code again in each guest, and a snapshot cannot hold translations. ${TRIED_START}`;
}

async function command(client: Client, id: string): Promise<number> {
  const began = performance.now();
  await firstCommand(client, id);
  return performance.now() - began;
}

/** What one more holds that has run a command. */
async function partsOfMemory(restoring: Client): Promise<string> {
  const ids: string[] = [];
  const more = async () => {
    for (let n = 0; n < CLONES; n += 1) {
      const id = await spawned(restoring);
      ids.push(id);
      await firstCommand(restoring, id);
    }
    return monitorParts(ids);
  };
  const [some, all] = [await more(), await more()];
  await Promise.all(ids.map((id) => restoring.destroy(id)));
  const one = (part: keyof MonitorParts) => `${((all[part] - some[part]) / CLONES).toFixed(1)} MB`;
  return `${one('translations')} are translated code, which emulation keeps for each guest, ${one('rest')} belong to QEMU itself, and ${one('guest')} are memory of the guest. ${TRIED_MEMORY}`;
}
