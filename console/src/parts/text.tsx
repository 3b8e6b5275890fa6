// Small parts that show values. What guests wrote is only ever a text node, with control and direction characters made visible.
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { href } from '../app/router.ts';
import { now } from './now.ts';

/** Controls, halves of pairs, fillers, marks that turn text, and tags: what one cannot see. */
const HIDDEN =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]|\u034f/gu;

/** Text of a guest: characters that hide or turn other text are shown as their number. */
export const shown = (text: string): string =>
  text.replace(HIDDEN, (char) => `⟨${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}⟩`);

export function Link({ to, children }: { to: string; children: ComponentChildren }): JSX.Element {
  return <a href={href(to)}>{typeof children === 'string' ? shown(children) : children}</a>;
}

const WORDS: Record<string, string> = {
  ...{
    running: 'good',
    online: 'good',
    healthy: 'good',
    active: 'good',
    allowed: 'good',
    ready: 'good',
    ok: 'good',
  },
  ...{ creating: 'busy', draining: 'busy', queued: 'busy', degraded: 'busy', allow: 'good' },
  ...{ error: 'bad', unhealthy: 'bad', offline: 'bad', denied: 'bad', failed: 'bad', deny: 'bad' },
};
const MARKS: Record<string, string> = { good: '●', busy: '◐', bad: '▲', none: '○' };

/** A state is never a colour alone. */
export function State({ of: word }: { of: string }): JSX.Element {
  const kind = WORDS[word] ?? 'none';
  return (
    <span class={`state ${kind}`}>
      <span aria-hidden="true">{MARKS[kind]}</span> {shown(word)}
    </span>
  );
}

const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'short' });

/** Relative to now, with the full time as its title. */
export function Time({ at }: { at: string | undefined }): JSX.Element {
  if (at === undefined) return <span class="none">never</span>;
  const seconds = (Date.parse(at) - now.value) / 1000;
  const [unit, size] = UNITS.find(([, one]) => Math.abs(seconds) >= one) ?? ['second', 1];
  return (
    <time dateTime={at} title={at}>
      {Math.abs(seconds) < 1 ? 'now' : relative.format(Math.round(seconds / size), unit)}
    </time>
  );
}

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Bytes. */
export function sizeText(bytes: number): string {
  let [value, at] = [bytes, 0];
  for (; value >= 1024 && at < SIZES.length - 1; at += 1) value /= 1024;
  return `${value >= 100 || at === 0 ? Math.round(value) : value.toFixed(1)} ${SIZES[at]}`;
}

/** Whether it is there. Pages over plain HTTP of another machine have no `navigator.clipboard`. */
async function toClipboard(text: string): Promise<boolean> {
  if (navigator.clipboard)
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  const field = document.createElement('textarea');
  field.value = text;
  // Inside of an open dialog: what is behind takes no selection.
  (document.querySelector('dialog[open]') ?? document.body).append(field);
  field.select();
  const isDone = document.execCommand('copy');
  field.remove();
  return isDone;
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }): JSX.Element {
  const [done, setDone] = useState(false);
  const copy = () => void toClipboard(text).then(setDone);
  return (
    <button type="button" class="small" onClick={copy}>
      {done ? 'Copied' : label}
    </button>
  );
}

/** Names and values of an answer, in its own order; what holds more than a value is shown as JSON. */
export function Facts({ of: facts, except = [] }: { of: object; except?: readonly string[] }): JSX.Element {
  const entries = Object.entries(facts).filter(
    ([name, value]) => value !== undefined && !except.includes(name),
  );
  return (
    <dl class="facts">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{shown(titleOf(name))}</dt>
          <dd>{textOf(name, value)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The unit is with the value. */
const titleOf = (name: string) => name.replace(/_(?:bytes|mb|at)$/, '').replaceAll('_', ' ');

function textOf(name: string, value: unknown): ComponentChildren {
  if (typeof value === 'number' && name.endsWith('_bytes')) return sizeText(value);
  if (typeof value === 'number' && name.endsWith('_mb')) return `${value} MiB`;
  if (typeof value === 'number' && !Number.isInteger(value)) return value.toFixed(2);
  if (typeof value === 'string' && /(?:_at|_until|timestamp|heartbeat)$/.test(name))
    return <Time at={value} />;
  if (value === null || value === '') return <span class="none">none</span>;
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object'))
    return shown(value.join(', ')) || 'none';
  if (isFlat(value))
    return (
      <ul class="plain">
        {Object.entries(value).map(([key, one]) => (
          <li key={key}>
            <span class="hint">{shown(key.replaceAll('_', ' '))}</span> {shown(String(one))}
          </li>
        ))}
      </ul>
    );
  if (typeof value === 'object') return <pre>{shown2(JSON.stringify(value, null, 2))}</pre>;
  return shown(String(value));
}

/** An object of plain values, such as labels. */
function isFlat(value: unknown): value is Record<string, string | number | boolean> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const values = Object.values(value);
  return values.length > 0 && values.every((one) => ['string', 'number', 'boolean'].includes(typeof one));
}

/** The same for text of several lines. */
export const shown2 = (text: string): string => text.split('\n').map(shown).join('\n');
