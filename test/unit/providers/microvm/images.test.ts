// Images as they are kept: found by name, replaced all at once, and never a record without its file.
import { readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import {
  findImage,
  type ImageRecord,
  installImage,
  listImages,
  makeImagesFolder,
  parseImageName,
  removeImage,
} from '../../../../src/providers/microvm/images.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

let dataFolder: string;
let folder: string;
beforeEach(async () => {
  dataFolder = temporaryFolder();
  folder = await makeImagesFolder(dataFolder);
});

const digestOf = (letter: string) => letter.repeat(64);

async function install(name: string, digest: string, content = 'content'): Promise<ImageRecord> {
  const record = {
    name,
    digest,
    size_bytes: content.length,
    created_at: '2026-01-01T00:00:00.000Z',
    source: 'tar a.tar',
  };
  writeFileSync(join(dataFolder, 'made'), content);
  await installImage(dataFolder, join(dataFolder, 'made'), record);
  return record;
}

const places = (configured: Record<string, string> = {}) => ({ dataFolder, configured });

it('are found by their name, whatever characters it has', async () => {
  const record = await install('registry.example:5000/team/app:1', digestOf('a'));
  expect(await findImage(places(), record.name)).toEqual({
    name: record.name,
    path: join(folder, `${digestOf('a')}.ext4`),
    version: digestOf('a'),
    size_bytes: 7,
    record,
  });
  expect(await findImage(places(), 'another')).toBeUndefined();
  expect(await findImage(places(), '../escape')).toBeUndefined();
});

it('are replaced at once, and the previous content is removed', async () => {
  await install('debian', digestOf('a'));
  await install('debian', digestOf('b'), 'other content');
  expect(await findImage(places(), 'debian')).toMatchObject({ version: digestOf('b'), size_bytes: 13 });
  expect(readdirSync(folder).sort()).toEqual([`${digestOf('b')}.ext4`, 'debian.json']);
});

it('share content, which stays while one of them uses it', async () => {
  await install('one', digestOf('a'));
  await install('two', digestOf('a'));
  await removeImage(dataFolder, 'one');
  expect(await findImage(places(), 'two')).toBeDefined();
  await removeImage(dataFolder, 'two');
  expect(readdirSync(folder)).toEqual([]);
  await expect(removeImage(dataFolder, 'two')).rejects.toMatchObject({ code: 'not_found' });
});

it('are absent when the file is truncated or missing', async () => {
  await install('one', digestOf('a'));
  await install('two', digestOf('b'));
  truncateSync(join(folder, `${digestOf('a')}.ext4`), 3);
  rmSync(join(folder, `${digestOf('b')}.ext4`));
  writeFileSync(join(folder, 'three.json'), '{"name":"three","digest":"../../x"}');
  writeFileSync(join(folder, 'four.json'), 'no record');
  expect(await listImages(places())).toEqual([]);
});

it('of the configuration come first, and change with their file', async () => {
  const file = join(dataFolder, 'rootfs.ext4');
  writeFileSync(file, 'one');
  await install('debian', digestOf('a'));
  await install('alpine', digestOf('b'));
  const configured = places({ debian: file, missing: join(dataFolder, 'nowhere') });
  const listed = await listImages(configured);
  expect(listed.map(({ name, path }) => [name, path])).toEqual([
    ['alpine', join(folder, `${digestOf('b')}.ext4`)],
    ['debian', file],
  ]);
  const { version } = (await findImage(configured, 'debian')) ?? {};
  expect((await findImage(configured, 'debian'))?.version).toBe(version);
  writeFileSync(file, 'another');
  expect((await findImage(configured, 'debian'))?.version).not.toBe(version);
});

it.each(['', '.hidden', 'a b', 'a\nb', '../up', 'x'.repeat(101)])('cannot be named %j', (name) => {
  expect(() => parseImageName(name)).toThrow(/Invalid image name/);
});

it('that cannot be read are not reported as missing', async () => {
  rmSync(folder, { recursive: true });
  expect(await listImages(places())).toEqual([]);
  symlinkSync('images', folder);
  const refusal = { code: 'provider_error', remedy: expect.stringContaining('svc image build') };
  await expect(listImages(places())).rejects.toMatchObject(refusal);
  await expect(findImage(places(), 'alpine')).rejects.toMatchObject(refusal);
});
