// Who beside root and the service can read or replace a file with a secret.
import type { Stats } from 'node:fs';
import { expect, it } from 'vitest';
import { exposures } from '../../../../src/ops/doctor/private-file.ts';

type Facts = { mode: number; uid: number; gid: number };

const SERVICE = { uid: 999, gid: 999 };
const FILE = { mode: 0o100600, ...SERVICE };
const FOLDER = { mode: 0o40755, uid: 0, gid: 0 };

/** What the service with the user 999 finds about `/etc/svc/key`. */
function about(file: Partial<Facts>, folder: Partial<Facts> = {}, above: Partial<Facts> = {}) {
  const all: Record<string, Facts> = {
    '/etc/svc/key': { ...FILE, ...file },
    '/etc/svc': { ...FOLDER, ...folder },
    '/etc': { ...FOLDER, ...above },
    '/': FOLDER,
  };
  const stat = async (path: string) => all[path] as Stats | undefined;
  return exposures({ ...SERVICE, stat }, '/etc/svc/key');
}

it.each([
  ['is private', {}, {}],
  ['is of root, and read by the group of the service', { mode: 0o100640, uid: 0 }, {}],
  ['is of root, and read by the group of root', { mode: 0o100640, uid: 0, gid: 0 }, {}],
  ['is in a folder like /tmp', {}, { mode: 0o41777 }],
  ['is in a folder of the service', {}, { mode: 0o40700, ...SERVICE }],
])('finds nothing about a file that %s', async (_, file, folder) => {
  expect(await about(file, folder)).toEqual([]);
});

it.each([
  ['the group may read', { mode: 0o100640 }, {}, {}, 'The group 999 can read /etc/svc/key.'],
  ['everyone may read', { mode: 0o100644 }, {}, {}, 'Everyone can read /etc/svc/key.'],
  ['another user owns', { uid: 1000 }, {}, {}, '/etc/svc/key belongs to the user 1000.'],
  ['others may write', { mode: 0o100602 }, {}, {}, 'Other users can change /etc/svc/key.'],
  ['others may replace', {}, { mode: 0o40757 }, {}, 'Other users can replace files in /etc/svc.'],
  ['a group may replace', {}, { mode: 0o40775, gid: 50 }, {}, 'Other users can replace files in /etc/svc.'],
  ['another user may replace', {}, { uid: 1000 }, {}, 'The folder /etc/svc belongs to the user 1000.'],
  ['others may move with its folder', {}, {}, { mode: 0o40777 }, 'Other users can replace files in /etc.'],
])('names a file that %s', async (_, file, folder, above, sentence) => {
  expect(await about(file, folder, above)).toEqual([sentence]);
});

it('says nothing about a file that is not there', async () => {
  const stat = async () => undefined;
  expect(await exposures({ ...SERVICE, stat }, '/etc/svc/key')).toEqual([]);
});
