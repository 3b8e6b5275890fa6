// The buffered writer on a fake clock and an append that is told what to do.
import { expect, it } from 'vitest';
import { type EventWriter, eventWriter } from '../../../src/events/batch-writer.ts';
import type { EventDraft } from '../../../src/schema/event.ts';
import { fakeClock, recordingLogger } from '../../support/fakes/ports.ts';
import { eventDraft } from '../../support/records.ts';

function setUp() {
  const clock = fakeClock();
  const logger = recordingLogger();
  const batches: number[] = [];
  const delivered: unknown[] = [];
  const disk = { fails: false, attempts: 0 };
  const append = async (drafts: EventDraft[]): Promise<void> => {
    disk.attempts++;
    if (disk.fails) throw new Error('disk');
    batches.push(drafts.length);
  };
  const deliver = (events: EventDraft[]) => void delivered.push(...events.map(({ data }) => data?.n));
  return { clock, logger, batches, delivered, disk, writer: eventWriter({ append, deliver, clock, logger }) };
}

function publish(writer: EventWriter, from: number, to: number): void {
  for (let n = from; n <= to; n++) writer.publish(eventDraft({ data: { n } }));
}
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

it('writes all events of 5 ms in one batch', async () => {
  const { clock, batches, delivered, writer } = setUp();
  publish(writer, 1, 2);
  await clock.advance(4);
  publish(writer, 3, 3);
  expect(batches).toEqual([]);
  await clock.advance(1);
  expect(batches).toEqual([3]);
  expect(delivered).toEqual([1, 2, 3]);
  expect(clock.pending()).toBe(0);
});

it('writes at once at 500 events, at most 500 together, in order', async () => {
  const { clock, batches, delivered, writer } = setUp();
  publish(writer, 1, 1700);
  await clock.advance(0);
  expect(batches).toEqual([500, 500, 500]);
  await clock.advance(20);
  expect(batches).toEqual([500, 500, 500, 200]);
  expect(delivered).toEqual(range(1, 1700));
});

it('keeps events that could not be stored, and logs the failure and the recovery once', async () => {
  const { clock, logger, delivered, disk, writer } = setUp();
  disk.fails = true;
  publish(writer, 1, 10);
  await clock.advance(5000);
  publish(writer, 11, 900);
  await clock.advance(5000);
  expect(disk.attempts).toBeGreaterThan(5);
  expect(disk.attempts).toBeLessThan(15);
  disk.fails = false;
  await clock.advance(1050);
  expect(delivered).toEqual(range(1, 900));
  expect(logger.lines.map(({ level }) => level)).toEqual(['error', 'info']);
});

it('flushes earlier events, and stops at a failure', async () => {
  const { delivered, disk, writer } = setUp();
  publish(writer, 1, 1200);
  await writer.flush();
  expect(delivered).toEqual(range(1, 1200));
  disk.fails = true;
  publish(writer, 1201, 1201);
  await writer.flush();
  expect(delivered).toHaveLength(1200);
  disk.fails = false;
  await writer.flush();
  expect(delivered).toEqual(range(1, 1201));
});

it('holds 100,000 events and drops the oldest beyond, counted and logged once', async () => {
  const { clock, logger, delivered, disk, writer } = setUp();
  disk.fails = true;
  publish(writer, 1, 500);
  await clock.advance(0);
  publish(writer, 501, 101_700);
  disk.fails = false;
  await writer.flush();
  expect(delivered.length).toBeLessThanOrEqual(100_000);
  expect(delivered.length).toBeGreaterThan(99_000);
  expect(delivered).toEqual(range(101_701 - delivered.length, 101_700));
  expect(logger.lines.map(({ level }) => level)).toEqual(['error', 'warn', 'info']);
  expect(logger.lines[2]?.fields).toEqual({ dropped: 101_700 - delivered.length });
});

it('on close stores waiting events, leaves no timer, and drops later ones', async () => {
  const { clock, logger, delivered, writer } = setUp();
  publish(writer, 1, 3);
  await writer.close();
  await writer.close();
  publish(writer, 4, 9);
  await clock.advance(1000);
  expect(delivered).toEqual([1, 2, 3]);
  expect(clock.pending()).toBe(0);
  expect(logger.lines).toHaveLength(1);
});

it('closes also when the store fails', async () => {
  const { clock, logger, disk, writer } = setUp();
  disk.fails = true;
  publish(writer, 1, 3);
  await writer.close();
  expect(clock.pending()).toBe(0);
  expect(logger.lines).toMatchObject([{ level: 'error' }, { level: 'warn', fields: { dropped: 3 } }]);
});
