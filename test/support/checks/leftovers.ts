// What sandboxes leave when a test ends without destroying them: they outlive their server by design. All of it is named
// after the server's instance, by its first twelve characters.
import { readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { removeFolder } from '../remove.ts';

const CGROUPS = '/sys/fs/cgroup';
const DEEPEST_CGROUP = 5;
const RUNS = '/run/svc';
const PATIENCE_MS = 10_000;

/** Ends every runtime of `instance` on this host that is no container, and removes its cgroups, claims and run folders. */
export function endRuntimes(instance: string): void {
  const groups = groupsOf(instance, CGROUPS, DEEPEST_CGROUP);
  const living = () => [...groups.flatMap(membersOf), ...processesNaming(join(RUNS, instance))];
  const deadline = performance.now() + PATIENCE_MS;
  for (let left = living(); left.length > 0 && performance.now() < deadline; left = living()) {
    for (const pid of left) quietly(() => process.kill(pid, 'SIGKILL'));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  for (const group of groups) quietly(() => rmdirSync(group));
  for (const folder of [instance, `${instance}v`]) removeFolder(join(RUNS, folder));
  releaseClaims(instance);
}

/** Children before their parents. */
function groupsOf(instance: string, root: string, depth: number): string[] {
  const entries = depth === 0 ? [] : (quietly(() => readdirSync(root, { withFileTypes: true })) ?? []);
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(root, name))
    .flatMap((path) => [
      ...groupsOf(instance, path, depth - 1),
      ...(path.includes(`svc-${instance}-`) ? [path] : []),
    ]);
}

/** Not those of another pid namespace, which the kernel tells as 0. */
function membersOf(group: string): number[] {
  const text = quietly(() => readFileSync(join(group, 'cgroup.procs'), 'utf8')) ?? '';
  return text
    .split('\n')
    .map(Number)
    .filter((pid) => pid > 0);
}

/** Processes of this host whose command line names `folder`. */
export function processesNaming(folder: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid)
    .filter((pid) => quietly(() => readFileSync(`/proc/${pid}/cmdline`, 'latin1'))?.includes(folder));
}

const CONNECTING = 'slirp4netns';

/** Programs that connect sandboxes with a user-mode network, on all of this host. One that is not reaped yet has no command line. */
export const networkPrograms = () =>
  processesNaming(CONNECTING).filter(
    (pid) => quietly(() => readFileSync(`/proc/${pid}/comm`, 'utf8')) === `${CONNECTING}\n`,
  );

function releaseClaims(instance: string): void {
  const uids = join(RUNS, 'uids');
  for (const name of quietly(() => readdirSync(uids)) ?? []) {
    const claim = join(uids, name);
    if (quietly(() => readlinkSync(claim))?.startsWith(`${instance} `)) rmSync(claim, { force: true });
  }
}

/** What goes away while it is looked at is no failure. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
