// Runtimes in virtual machines, emulated: the contract of every provider, and what a machine of its own adds to it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Provider } from '../../src/providers/provider.ts';
import { type MicrovmHome, microvmHome } from '../support/microvm.ts';
import { describeWith } from '../support/requires.ts';
import { runtimeSpec } from '../support/userspace.ts';
import { type Promises, providerContract } from './provider.suite.ts';

describeWith(['root', 'qemu', 'busybox', 'mke2fs'], 'runtimes of QEMU', () => {
  let place: MicrovmHome;
  let provider: Provider;
  const others: Provider[] = [];
  const other: typeof place.provider = (...of) => {
    others.push(place.provider(...of));
    return others.at(-1) as Provider;
  };

  beforeAll(() => {
    place = microvmHome();
    provider = place.provider();
  });
  afterAll(async () => {
    for (const one of [...others, provider, provider]) await one.close();
    expect(existsSync(place.runs)).toBe(false);
    expect(monitors(place.runs)).toEqual([]);
    place.remove();
  });

  const pid = (name: string) =>
    JSON.parse(readFileSync(join(place.runs, name, 'runtime.json'), 'utf8')).pid as number;
  const promises: Promises = {
    moments: [0, 20, 60, 200, 600],
    outlasts: false,
    watches: true,
    separatesNetworks: true,
    memory: 'the program',
  };
  providerContract(promises, () => ({
    provider,
    restarted: () => other(),
    stranger: () => other({}, { id: `ffff${place.instance.id.slice(4)}`, key: place.instance.key }),
    spec: runtimeSpec,
    left: async (ids) => ids.flatMap((id) => remains(place, id)),
    kill: async (name) => void process.kill(pid(name), 'SIGKILL'),
    freeze: async (name) => void process.kill(pid(name), 'SIGSTOP'),
  }));
});

/** Processes, folders, disks and claims of uids that carry the sandbox's id. */
function remains({ home, runs }: MicrovmHome, id: string): string[] {
  const named = (folder: string) =>
    existsSync(folder)
      ? readdirSync(folder, { recursive: true })
          .map(String)
          .filter((name) => name.includes(id))
      : [];
  return [...monitors(id), ...named(runs), ...named(join(home, 'data'))];
}

function monitors(what: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) &&
        readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`${what}`) &&
        +pid !== process.pid
      );
    } catch {
      return false;
    }
  });
}
