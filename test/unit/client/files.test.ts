// Paths of the client's file calls: a call has no working folder, so relative ones are refused before anything is sent.
import { expect, it } from 'vitest';
import { Client } from '../../../src/client/client.ts';

/** Nothing listens there: a call that is sent fails with another code. */
const { files } = new Client({ server: 'http://127.0.0.1:9', retry: false });

it.each<[string, () => Promise<unknown>]>([
  ['open', () => files.open('sb-1', 'a.txt')],
  ['read', () => files.read('sb-1', './a.txt')],
  ['write', async () => files.write('sb-1', 'a.txt', 'x')],
  ['stat', async () => files.stat('sb-1', '')],
  ['list', async () => files.list('sb-1', 'src')],
  ['glob', async () => files.glob('sb-1', '**/*.py')],
  ['move from', () => files.move('sb-1', 'a', '/b')],
  ['move to', () => files.move('sb-1', '/a', 'b')],
  ['chmod', () => files.chmod('sb-1', '../a', '755')],
  ['mkdir', () => files.mkdir('sb-1', 'a')],
  ['remove', () => files.remove('sb-1', 'a')],
])('refuses a relative path: %s', async (_, call) => {
  await expect(call()).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('is not absolute'),
    remedy: expect.stringContaining('"/workspace/'),
  });
});

it('sends an absolute path', async () => {
  await expect(files.stat('sb-1', '/a')).rejects.toMatchObject({ code: 'unavailable' });
});
