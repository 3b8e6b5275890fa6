// Names, folders, records and claims: a later server finds runtimes by them, and two servers stay apart.
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type InstanceFolders,
  instanceFolders,
  makeInstanceFolders,
  parseRuntimeName,
  runFolder,
  runtimeName,
  socketPath,
} from '../../../../src/providers/local/instance-folders.ts';
import { isAlive, killProcess, parseStat } from '../../../../src/providers/local/processes.ts';
import { claimSlot, releaseSlots, sweepSlots } from '../../../../src/providers/local/uid-slots.ts';
import { readRecord } from '../../../../src/providers/userspace/record.ts';
import { seededRandom } from '../../../support/fakes/ports.ts';

const INSTANCE = '0f3e2d1c-4b5a-4678-9abc-def012345678';
let home: string;
let folders: InstanceFolders;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'svc-unit-'));
  folders = instanceFolders(1234, INSTANCE, home);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const own = () => process.getuid?.() ?? 0;

it('separates root from users, and users without a session from each other', () => {
  expect(instanceFolders(0, INSTANCE, '/anything').instance).toBe('/run/svc/0f3e2d1c4b5a');
  expect(instanceFolders(7, INSTANCE, '/run/user/7').instance).toBe('/run/user/7/svc/0f3e2d1c4b5a');
  expect(instanceFolders(7, INSTANCE, undefined).root).toBe('/tmp/svc-7');
});

it('names a runtime by sandbox and epoch, and parses the name', () => {
  const name = runtimeName({ id: 'sb-aaaaaaaaaaaa', epoch: 12 });
  expect(parseRuntimeName(name)).toEqual({ id: 'sb-aaaaaaaaaaaa', epoch: 12 });
  for (const wrong of ['etc', '..', 'sb-a', 'sb-a.', 'sb/a.1', '../x.1', 'sb-a.1.2', '.1', 'SB-A.1'])
    expect(parseRuntimeName(wrong)).toBeUndefined();
  expect(() => runFolder(folders, '../x.1')).toThrow();
});

it('refuses a socket path that no socket can have', () => {
  const deep = instanceFolders(7, INSTANCE, `/${'d'.repeat(80)}`);
  expect(() => socketPath(deep, 'sb-aaaaaaaaaaaa.1')).toThrow(/too long for sockets/);
});

it('does not use /run/svc of a service of another user', async () => {
  mkdirSync(folders.root);
  if (own() === 0) chownSync(folders.root, 1234, 1234);
  await expect(makeInstanceFolders(folders, 0)).rejects.toMatchObject({
    code: 'provider_error',
    remedy: expect.stringContaining('Run this command as that user'),
  });
});

it('makes its folders repeatedly, and refuses foreign ones', async () => {
  await makeInstanceFolders(folders, own());
  await makeInstanceFolders(folders, own());
  expect(statSync(folders.uids).mode & 0o777).toBe(0o700);
  await expect(makeInstanceFolders(folders, own() + 1)).rejects.toMatchObject({ code: 'provider_error' });
});

it('refuses a link in place of a folder', async () => {
  mkdirSync(join(home, 'elsewhere'));
  symlinkSync(join(home, 'elsewhere'), folders.root);
  await expect(makeInstanceFolders(folders, own())).rejects.toMatchObject({ code: 'provider_error' });
});

it('issues each uid once, and releases only its own claims', async () => {
  await makeInstanceFolders(folders, own());
  const sameRandom = () => seededRandom(7);
  const slots = await Promise.all(
    Array.from({ length: 20 }, (_, index) => claimSlot(folders, `sb-${index}.1`, sameRandom())),
  );
  expect(new Set(slots).size).toBe(20);
  const other = { ...folders, short: 'another' };
  const foreign = await claimSlot(other, 'sb-0.1', sameRandom());
  await sweepSlots(folders, (name) => name !== 'sb-3.1');
  expect(readdirSync(folders.uids).map(Number).sort()).toEqual([slots[3], foreign].sort());
  const release = (uid: number, name: string, slot?: number) =>
    releaseSlots({ folders, host: { uid } }, name, slot);
  await release(0, 'sb-0.1', foreign);
  await release(1000, 'sb-3.1');
  expect(readdirSync(folders.uids)).toHaveLength(2);
  await release(0, 'sb-3.1');
  expect(readdirSync(folders.uids).map(Number)).toEqual([foreign]);
});

const record = {
  instance: INSTANCE,
  id: 'sb-a',
  epoch: 1,
  boot_id: 'b',
  image: 'host',
  created_at: 'c',
  expires_at: 'e',
  uid_slot: 5,
  cgroups: ['/c'],
  pid: 10,
  pid_start: 20,
  runner_pid: 9,
  runner_start: 19,
};

it('reads a complete record and rejects anything else', async () => {
  const write = (text: string) => writeFileSync(join(home, 'runtime.json'), text);
  expect(await readRecord(home)).toBeUndefined();
  write(JSON.stringify(record));
  expect(await readRecord(home)).toEqual(record);
  for (const change of [
    { pid: -1 },
    { pid: '10' },
    { cgroups: 'x' },
    { cgroups: [1] },
    { uid_slot: 1.5 },
    { id: 7 },
  ]) {
    write(JSON.stringify({ ...record, ...change }));
    expect(await readRecord(home)).toBeUndefined();
  }
  for (const text of ['', '{', 'null', '[]', '7']) {
    write(text);
    expect(await readRecord(home)).toBeUndefined();
  }
});

it('reads the start time after a hostile process name', () => {
  const rest = ['S', ...Array.from({ length: 18 }, () => '0'), '4711', '9'].join(' ');
  expect(parseStat(`12 (a) R 1 (x) ) ${rest}`)).toEqual({ state: 'S', start: 4711 });
  expect(parseStat('')).toBeUndefined();
});

it('recognizes this process, and never another with its number', async () => {
  const { readFileSync } = await import('node:fs');
  const start = parseStat(readFileSync('/proc/self/stat', 'utf8'))?.start ?? -1;
  expect(await isAlive({ pid: process.pid, start })).toBe(true);
  expect(await isAlive({ pid: process.pid, start: start + 1 })).toBe(false);
  // Would end the test run if the start time were not compared.
  await killProcess({ pid: process.pid, start: start + 1 });
});
