// The order of a copy, what is counted, and what happens when parts of it fail.
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { reported, reportText } from '../../../../src/cli/copy/copy.ts';
import type { Entry, Source, Target } from '../../../../src/cli/copy/endpoint.ts';
import { transfer } from '../../../../src/cli/copy/transfer.ts';
import { ServiceError } from '../../../../src/domain/errors.ts';

const silent = { total: () => {}, moved: () => {}, end: () => {} };
const never = new AbortController().signal;

const file = (at: string, content = at): Entry => ({ at, type: 'file', size: content.length, mode: 0o644 });
const dir = (at: string): Entry => ({ at, type: 'dir', mode: 0o755 });

function sourceOf(...entries: Entry[]): Source {
  return {
    name: 'src',
    async *entries() {
      yield* entries;
    },
    open: async ({ at }) => Readable.from([Buffer.from(at)]),
  };
}

/** Keeps what it was told; `fails` throws for a place. */
function recorder(fails: (at: string) => unknown = () => undefined) {
  const told: string[] = [];
  const step = (what: string, at: string) => {
    const failure = fails(at);
    if (failure !== undefined) throw failure;
    told.push(`${what} ${at}`);
  };
  const target: Target = {
    begin: async (bytes) => void told.push(`begin ${bytes}`),
    folder: async (at) => step('folder', at),
    file: async ({ at }, content) => {
      const bytes = Buffer.concat(await (await content()).toArray());
      step('file', `${at}=${bytes}`);
    },
    link: async (at, to) => {
      if (to.startsWith('/')) return 'it leads out';
      step('link', at);
      return undefined;
    },
    end: async () => void told.push('end'),
  };
  return { target, told };
}

it('makes folders from the top down, then files, then links', async () => {
  const { target, told } = recorder();
  const source = sourceOf(
    { at: 'l', type: 'symlink', target: 'a' },
    dir('b/c'),
    dir('b'),
    dir(''),
    file('b/f'),
    { at: 'abs', type: 'symlink', target: '/etc' },
    { at: 'pipe', type: 'left_out', reason: 'odd' },
  );
  const tally = await transfer({ source, target }, silent, never);
  expect(told).toEqual(['begin 3', 'folder ', 'folder b', 'folder b/c', 'file b/f=b/f', 'link l', 'end']);
  expect(tally).toEqual({
    files: 1,
    folders: 3,
    links: 1,
    bytes: 3,
    left_out: [
      { path: 'pipe', reason: 'odd' },
      { path: 'abs', reason: 'it leads out' },
    ],
    failed: [],
  });
  const report = reported({ from: 'x', to: 'y' }, tally, 1500);
  expect(reportText(report)).toBe(
    'left out: pipe: odd\nleft out: abs: it leads out\n1 file, 3 folders, 1 link, 3 B in 1.5 s (2 B/s)',
  );
});

it('continues after a failed file, and names it', async () => {
  const refused = new ServiceError('forbidden', 'No.');
  const { target, told } = recorder((at) => (at.startsWith('b') ? refused : undefined));
  const tally = await transfer({ source: sourceOf(file('a'), file('b'), file('c')), target }, silent, never);
  expect(told).toEqual(['begin 3', 'file a=a', 'file c=c', 'end']);
  expect(tally.failed).toEqual([{ name: 'b', code: 'forbidden', message: 'b: No.' }]);
  expect(() => reported({ from: 'x', to: 'y' }, tally, 1)).toThrow('1 of 3 were not copied.');
});

it.each(['unavailable', 'unauthorized', 'resource_limit'] as const)('stops at %s', async (code) => {
  const failure = new ServiceError(code, 'No more.');
  const { target } = recorder(() => failure);
  await expect(transfer({ source: sourceOf(file('a'), file('b')), target }, silent, never)).rejects.toBe(
    failure,
  );
});

it('fails with the error of a single copied file', async () => {
  const failure = new ServiceError('conflict', 'There is a folder.');
  const { target } = recorder(() => failure);
  await expect(transfer({ source: sourceOf(file('')), target }, silent, never)).rejects.toBe(failure);
});

it('ends on an abort with its reason', async () => {
  const stop = new AbortController();
  const { target, told } = recorder((at) => void (at.startsWith('b') && stop.abort(new Error('stop'))));
  const many = ['a', 'b', ...Array.from({ length: 50 }, (_, n) => `x${n}`)].map((at) => file(at));
  await expect(transfer({ source: sourceOf(...many), target }, silent, stop.signal)).rejects.toThrow('stop');
  expect(told.length).toBeLessThan(20);
});

it('stops reading the content when the target fails', async () => {
  const content = new Readable({ read() {} });
  content.push('x');
  const source = { ...sourceOf(file('')), open: async () => content };
  const { target } = recorder();
  const failing = {
    ...target,
    file: async (_: unknown, open: () => Promise<Readable>) => {
      const stream = await open();
      stream.destroy();
      throw new ServiceError('conflict', 'No.');
    },
  };
  await expect(transfer({ source, target: failing }, silent, never)).rejects.toThrow('No.');
  expect(content.destroyed).toBe(true);
});

it('fails before it touches the target when the source itself cannot be copied', async () => {
  for (const [type, code] of [
    ['left_out', 'bad_request'],
    ['unreadable', 'forbidden'],
  ] as const) {
    const { target, told } = recorder();
    const copied = transfer({ source: sourceOf({ at: '', type, reason: 'odd' }), target }, silent, never);
    await expect(copied).rejects.toMatchObject({ code, message: 'The source cannot be copied: odd.' });
    expect(told).toEqual([]);
  }
});

it('copies the rest and then fails when a part cannot be read', async () => {
  const { target, told } = recorder();
  const source = sourceOf(dir(''), dir('d'), { at: 'd', type: 'unreadable', reason: 'closed' }, file('f'));
  const tally = await transfer({ source, target }, silent, never);
  expect(told).toContain('file f=f');
  expect(tally.left_out).toEqual([]);
  expect(() => reported({ from: 'a', to: 'b' }, tally, 1)).toThrow(
    expect.objectContaining({
      code: 'forbidden',
      details: { failed: [{ name: 'd', code: 'forbidden', message: 'd: closed' }] },
    }),
  );
});
