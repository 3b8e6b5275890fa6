// The bus: order, and publishers that no listener can hold up or break.
import { expect, it } from 'vitest';
import { eventBus } from '../../../src/events/bus.ts';
import type { EventDraft } from '../../../src/schema/event.ts';
import { recordingLogger } from '../../support/fakes/ports.ts';
import { eventDraft } from '../../support/records.ts';
import { until } from '../../support/until.ts';

const event = (n: number): EventDraft => eventDraft({ data: { n } });
const numberOf = ({ data }: EventDraft) => Number(data?.n);
const never = new Promise<void>(() => {});

it('delivers in order to every listener, after the publisher continued', async () => {
  const bus = eventBus({ logger: recordingLogger() });
  const heard: string[] = [];
  bus.subscribe((event) => void heard.push(`a${numberOf(event)}`));
  bus.subscribe(async (event) => void heard.push(`b${numberOf(event)}`));
  bus.publish([event(1), event(2)]);
  bus.publish([event(3)]);
  expect(heard).toEqual([]);
  await until('all heard', () => heard.length === 6);
  expect(heard.filter((word) => word.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
  expect(heard.filter((word) => word.startsWith('b'))).toEqual(['b1', 'b2', 'b3']);
});

it('logs a listener that throws or rejects, and keeps it', async () => {
  const logger = recordingLogger();
  const bus = eventBus({ logger });
  const heard: number[] = [];
  bus.subscribe((event) => {
    heard.push(numberOf(event));
    throw new Error('broken');
  });
  bus.subscribe(() => Promise.reject(new Error('broken too')));
  bus.publish([event(1), event(2)]);
  await until('four failures logged', () => logger.lines.length === 4);
  expect(heard).toEqual([1, 2]);
  expect(logger.lines.every(({ level }) => level === 'error')).toBe(true);
});

it('drops a listener that never finishes, notifies it once, and serves the others', async () => {
  const logger = recordingLogger();
  const bus = eventBus({ logger });
  const heard: number[] = [];
  let dropped = 0;
  let calls = 0;
  const stuck = () => {
    calls++;
    return never;
  };
  bus.subscribe(stuck, { limit: 3, onDropped: () => void dropped++ });
  bus.subscribe((event) => void heard.push(numberOf(event)));
  for (let id = 1; id <= 10; id++) {
    bus.publish([event(id)]);
    await until('the other heard it', () => heard.length === id);
  }
  expect({ dropped, calls }).toEqual({ dropped: 1, calls: 1 });
  expect(logger.lines).toMatchObject([{ level: 'warn', fields: { limit: 3 } }]);
});

it('delivers nothing after the end of a subscription, also no queued events', async () => {
  const bus = eventBus({ logger: recordingLogger() });
  const heard: number[] = [];
  const end = bus.subscribe((event) => {
    heard.push(numberOf(event));
    end();
  });
  const other: number[] = [];
  bus.subscribe((event) => void other.push(numberOf(event)));
  bus.publish([event(1), event(2)]);
  await until('the other heard both', () => other.length === 2);
  end();
  bus.publish([event(3)]);
  await until('the other heard it', () => other.length === 3);
  expect(heard).toEqual([1]);
});
