// The work of `svc events`: requests the events and formats each as a line of a table.
import { printable } from '../domain/printable.ts';
import { EVENT_TYPES, type Event, type EventQuery } from '../schema/event.ts';
import { type ConnectionFlags, connect } from './connection.ts';
import { columnsOf } from './fit-columns.ts';
import { paintFor } from './paint.ts';
import { hanging } from './render.ts';

const TIME = '2026-01-02T03:04:05.000Z'.length;
const TYPE = Math.max(...EVENT_TYPES.map((type) => type.length));
const SANDBOX = 'sb-aaaaaaaaaaaa'.length;
const ABSENT = '-';

export interface EventFlags extends ConnectionFlags {
  type?: string | undefined;
  sandbox?: string | undefined;
  owner?: string | undefined;
  actor?: string | undefined;
  since?: number | undefined;
  follow: boolean;
}

export function followEvents(flags: EventFlags): AsyncIterable<Event> {
  const { type, sandbox: sandbox_id, owner: owner_id, actor, since, follow } = flags;
  const query: EventQuery = {
    ...(type !== undefined && { type }),
    ...(sandbox_id !== undefined && { sandbox_id }),
    ...(owner_id !== undefined && { owner_id }),
    ...(actor !== undefined && { actor }),
    ...(since !== undefined && { since }),
    ...(!follow && { follow }),
  };
  return connect(flags).events(query);
}

export function eventHead(): string {
  return paintFor(process.stdout).bold(line(['TIME', 'TYPE', 'SANDBOX', 'ID', 'FACTS']));
}

export function eventLine({ id, type, timestamp, sandbox_id, owner_id, actor, data = {} }: Event): string {
  const facts = {
    ...(owner_id !== undefined && { owner: owner_id }),
    ...(actor !== undefined && { actor }),
    ...data,
  };
  return line([timestamp, type, sandbox_id ?? ABSENT, String(id), factsLine(facts)]);
}

function line([time = '', type = '', sandbox = '', id = '', facts = '']: readonly string[]): string {
  const head = [pad(time, TIME), pad(type, TYPE), pad(sandbox, SANDBOX), pad(id, 6), ''].join('  ');
  return `${head}${hanging(printable(facts), columnsOf(head))}`.trimEnd();
}

function factsLine(facts: Record<string, unknown>): string {
  return Object.entries(facts)
    .map(([name, value]) => `${name}=${shown(value)}`)
    .join(' ');
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return typeof value === 'string' && /[\s"=]/.test(text) ? JSON.stringify(text) : text;
}

function pad(text: string, width: number): string {
  const safe = printable(text);
  return safe + ' '.repeat(Math.max(0, width - columnsOf(safe)));
}
