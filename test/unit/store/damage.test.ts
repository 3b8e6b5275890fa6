// A corpus of damaged files. Each either refuses to open or opens; nothing ever throws what is not a ServiceError, and
// what was refused as no database is left as it is.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ServiceError } from '../../../src/domain/errors.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { fakeDeps, seededRandom } from '../../support/fakes/ports.ts';
import { eventDraft, NO_CAP, sandboxRecord, stamp } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const open = (path: string) => openSqliteStore({ ...fakeDeps(), path, synchronous: 'normal' });
const PAGE = 4096;

interface Damage {
  name: string;
  /** From a whole file, its log empty or not, to what the test finds on the disk. */
  make: (whole: Buffer, wal: Buffer) => { file: Buffer; wal?: Buffer };
}

const random = seededRandom(7);
const pick = (limit: number) => random.bytes(4).readUInt32LE() % limit;
const flip = (whole: Buffer, at: number, length = 1) => {
  const file = Buffer.from(whole);
  random.bytes(length).copy(file, at % file.length);
  return file;
};

const CORPUS: Damage[] = [
  { name: 'empty', make: () => ({ file: Buffer.alloc(0) }) },
  { name: 'text', make: () => ({ file: Buffer.from('this is no database\n'.repeat(300)) }) },
  { name: 'zeros', make: (whole) => ({ file: Buffer.alloc(whole.length) }) },
  { name: 'noise', make: (whole) => ({ file: random.bytes(whole.length) }) },
  { name: 'magic alone', make: (whole) => ({ file: whole.subarray(0, 16) }) },
  ...[1, 15, 50, 99, 100, 511, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE].map((length) => ({
    name: `cut to ${length}`,
    make: (whole: Buffer) => ({ file: whole.subarray(0, length) }),
  })),
  ...[1, PAGE, 5 * PAGE].map((length) => ({
    name: `last ${length} cut off`,
    make: (whole: Buffer) => ({ file: whole.subarray(0, whole.length - length) }),
  })),
  ...[16, 18, 20, 21, 24, 28, 32, 36, 40, 44, 48, 56, 60, 68, 92, 96, 100, 103, 105].map((at) => ({
    name: `header byte ${at}`,
    make: (whole: Buffer) => ({ file: flip(whole, at, 2) }),
  })),
  ...Array.from({ length: 12 }, (_, n) => ({
    name: `page ${n + 1} noise`,
    make: (whole: Buffer) => ({ file: flip(whole, (n + 1) * PAGE, PAGE) }),
  })),
  ...Array.from({ length: 10 }, (_, n) => ({
    name: `forty bytes wrong, ${n}`,
    make: (whole: Buffer) => {
      let file = whole;
      for (let i = 0; i < 40; i++) file = flip(file, 100 + pick(whole.length - 100));
      return { file };
    },
  })),
  { name: 'log without its file', make: (_, wal) => ({ file: Buffer.alloc(0), wal }) },
  { name: 'log of noise', make: (whole) => ({ file: whole, wal: random.bytes(3 * PAGE) }) },
  { name: 'log cut', make: (whole, wal) => ({ file: whole, wal: wal.subarray(0, wal.length / 2) }) },
  ...Array.from({ length: 6 }, (_, n) => ({
    name: `log damaged, ${n}`,
    make: (whole: Buffer, wal: Buffer) => ({ file: whole, wal: flip(wal, pick(wal.length), 200) }),
  })),
];

let whole: Buffer;
let wal: Buffer;
const outcomes: string[] = [];

const folder = mkdtempSync(join(tmpdir(), 'svc-damage-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeAll(async () => {
  const path = join(folder, 'svc.db');
  const first = await open(path);
  for (let i = 0; i < 60; i++) await put(first, i);
  await first.close();
  whole = readFileSync(path);
  const second = await open(path);
  for (let i = 0; i < 5; i++) await put(second, i);
  wal = readFileSync(`${path}-wal`);
  await second.close();
});

function put(store: Store, i: number) {
  const record = sandboxRecord({ metadata: { i: String(i), fill: 'x'.repeat(300) }, owner_id: `o${i % 3}` });
  const claim = { scope: 's', key: record.id, fingerprint: 'f' };
  return store.sandboxes.reserve({
    sandbox: record,
    limits: NO_CAP,
    events: [eventDraft({ data: { i } })],
    claim,
  });
}

it.each(CORPUS)('$name', async ({ make }) => {
  const path = join(temporaryFolder(), 'svc.db');
  const made = make(whole, wal);
  writeFileSync(path, made.file);
  if (made.wal) writeFileSync(`${path}-wal`, made.wal);
  const store = await open(path).catch((error: unknown) => refused(error, path, made.file));
  if (!store) return;
  outcomes.push('opened');
  for (const call of everything(store)) await call().catch(mustBeOurs);
  await store.close();
});

it('the corpus has files that open and files that are refused', () => {
  expect(new Set(outcomes)).toEqual(new Set(['opened', 'internal', 'conflict']));
  expect(outcomes.length).toBe(CORPUS.length);
});

function refused(error: unknown, path: string, file: Buffer): undefined {
  mustBeOurs(error);
  const { code, message } = error as ServiceError;
  outcomes.push(code);
  expect(existsSync(path)).toBe(true);
  if (message.includes('not a database') || code === 'conflict')
    expect(readFileSync(path).equals(file)).toBe(true);
}

function mustBeOurs(error: unknown): void {
  expect(error).toBeInstanceOf(ServiceError);
  const { message, remedy } = error as ServiceError;
  expect(remedy).toEqual(expect.any(String));
  expect(message).not.toMatch(/SQLITE|SELECT|tmp/i);
}

function everything({ sandboxes, events, idempotency, ping }: Store): (() => Promise<unknown>)[] {
  const record = sandboxRecord();
  const change = {
    id: record.id,
    from: ['creating' as const],
    epoch: 1,
    events: [eventDraft()],
    response: '{}',
  };
  return [
    ping,
    () => sandboxes.list({ limit: 1000, include_ended: true, metadata: { i: '3' } }),
    () => sandboxes.inStates(['creating', 'error'], 1000),
    () => sandboxes.due(stamp(99_999), 1000),
    sandboxes.nextDeadline,
    sandboxes.countActive,
    () =>
      sandboxes.reserve({
        sandbox: record,
        limits: NO_CAP,
        events: [eventDraft()],
        claim: {
          scope: 's',
          key: 'k',
          fingerprint: 'f',
        },
      }),
    () => sandboxes.get(record.id),
    () => sandboxes.extend(record.id, ['creating'], { was: record.expires_at, expires_at: stamp(9999) }),
    () => sandboxes.transition({ ...change, patch: { state: 'destroyed', ended_at: stamp() } }),
    () => events.append([eventDraft(), eventDraft()]),
    () => events.since(0, 1000),
    () => events.prune(1),
    () => idempotency.prune(stamp(99_999)),
    () => sandboxes.purgeEnded(stamp(99_999)),
  ];
}
