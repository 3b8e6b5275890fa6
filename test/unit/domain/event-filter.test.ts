// Which events a reader of GET /events gets.
import { expect, it } from 'vitest';
import { eventFilter, filterKey, passes } from '../../../src/domain/event-filter.ts';
import type { Event, EventQuery } from '../../../src/schema/event.ts';
import { eventDraft } from '../../support/records.ts';

const of = (facts: Partial<Event> = {}): Event => ({ id: 1, ...eventDraft(), ...facts });
const lets = (query: EventQuery, event: Event) => passes(eventFilter(query), event);

it('passes every event without a filter, else only matching ones', () => {
  expect(lets({}, of())).toBe(true);
  expect(lets({ type: 'exec.failed' }, of({ type: 'exec.failed' }))).toBe(true);
  expect(lets({ type: 'exec.failed' }, of({ type: 'exec.started' }))).toBe(false);
  expect(lets({ type: 'exec.*, file.read' }, of({ type: 'exec.started' }))).toBe(true);
  expect(lets({ type: 'exec.*, file.read' }, of({ type: 'file.read' }))).toBe(true);
  expect(lets({ type: 'exec.*, file.read' }, of({ type: 'file.written' }))).toBe(false);
  expect(lets({ sandbox_id: 'sb-1' }, of({ sandbox_id: 'sb-1' }))).toBe(true);
  expect(lets({ sandbox_id: 'sb-1' }, of({ sandbox_id: 'sb-2' }))).toBe(false);
  expect(lets({ sandbox_id: 'sb-1' }, of())).toBe(false);
  expect(lets({ owner_id: ' ann ' }, of({ owner_id: 'ann' }))).toBe(true);
  expect(lets({ owner_id: 'ann' }, of())).toBe(false);
  expect(lets({ type: 'exec.*', owner_id: 'ann' }, of({ owner_id: 'ann' }))).toBe(false);
});

it.each(['', 'exec', 'exec.', '*', 'exec.nothing', 'exec.failed,', 'nothing.*', 'stream.gap', 'EXEC.FAILED'])(
  'rejects the unknown type %j',
  (type) => {
    expect(() => eventFilter({ type })).toThrow('Unknown event type');
  },
);

it('gives equal filters equal keys', () => {
  const key = (query: EventQuery) => filterKey(eventFilter(query));
  expect(key({ type: 'exec.failed,exec.started' })).toBe(key({ type: 'exec.started, exec.failed' }));
  const others = [{}, { sandbox_id: 'a' }, { owner_id: 'a' }, { type: 'file.read' }];
  expect(new Set(others.map(key)).size).toBe(others.length);
});
