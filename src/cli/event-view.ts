// How an event is shown to people: a line that lines up with the ones before it, as they come one at a time.
import { printable } from '../domain/printable.ts';
import { EVENT_TYPES, type Event } from '../schema/event.ts';
import { columnsOf } from './columns.ts';
import { paintFor } from './paint.ts';

const TIME = '2026-01-02T03:04:05.000Z'.length;
const TYPE = Math.max(...EVENT_TYPES.map((type) => type.length));
const SANDBOX = 'sb-aaaaaaaaaaaa'.length;
const ABSENT = '-';

export function eventHead(): string {
  return paintFor(process.stdout).bold(line(['TIME', 'TYPE', 'SANDBOX', 'ID', 'FACTS']));
}

export function eventLine({ id, type, timestamp, sandbox_id, owner_id, data = {} }: Event): string {
  const facts = { ...(owner_id !== undefined && { owner: owner_id }), ...data };
  return line([timestamp, type, sandbox_id ?? ABSENT, String(id), factsLine(facts)]);
}

function line([time = '', type = '', sandbox = '', id = '', facts = '']: readonly string[]): string {
  return [pad(time, TIME), pad(type, TYPE), pad(sandbox, SANDBOX), pad(id, 6), printable(facts)]
    .join('  ')
    .trimEnd();
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
