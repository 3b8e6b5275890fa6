// The one stream of events of this page. It is read with fetch, so that the token is in a header; it connects again by itself and
// continues after the last event. A page that nobody sees gives it up after a minute.
import { signal } from '@preact/signals';
import type { Event } from '../../../src/schema/event.ts';
import { call, Failure } from '../api/call.ts';
import { linesOf } from '../api/lines.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const SILENCE_MS = 40_000;
const HIDDEN_MS = 60_000;

export type Link = 'connecting' | 'live' | 'lost' | 'hidden';
export const link = signal<Link>('connecting');
/** Since when the stream is lost, in ms. */
export const lostAt = signal<number | undefined>(undefined);

type Listener = (event: Event) => void;
const listeners = new Set<Listener>();
const resets = new Set<() => void>();

/** Returns how to stop. */
export function onEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Called when events may be missing: what was built from them has to be read again. */
export function onGap(listener: () => void): () => void {
  resets.add(listener);
  return () => resets.delete(listener);
}

let running: AbortController | undefined;
let last: string | undefined;

/** Starts, or starts again with other credentials: from now on, as everything is read again. */
export function openStream(): void {
  closeStream();
  last = undefined;
  lostAt.value = undefined;
  const own = new AbortController();
  running = own;
  link.value = 'connecting';
  void follow(own.signal);
}

export function closeStream(): void {
  running?.abort();
  running = undefined;
}

async function follow(stop: AbortSignal): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; !stop.aborted; ) {
    try {
      await readOnce(stop, () => {
        pause = FIRST_PAUSE_MS;
      });
    } catch (error) {
      if (stop.aborted) return;
      if (error instanceof Failure && error.status === 401) return;
    }
    if (stop.aborted) return;
    if (link.value !== 'hidden') lose();
    await wait(pause * (0.75 + Math.random() / 2), stop);
    if (document.hidden) await seen(stop);
    if (link.value === 'hidden') link.value = 'connecting';
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

function lose(): void {
  lostAt.value ??= Date.now();
  link.value = 'lost';
}

async function readOnce(stop: AbortSignal, connected: () => void): Promise<void> {
  const own = new AbortController();
  const end = () => own.abort();
  stop.addEventListener('abort', end);
  let silence = setTimeout(end, SILENCE_MS);
  let hidden: ReturnType<typeof setTimeout> | undefined;
  const hide = () => {
    clearTimeout(hidden);
    if (document.hidden)
      hidden = setTimeout(() => {
        link.value = 'hidden';
        end();
      }, HIDDEN_MS);
  };
  document.addEventListener('visibilitychange', hide);
  try {
    const headers: Record<string, string> = { Accept: 'text/event-stream' };
    if (last !== undefined) headers['Last-Event-ID'] = last;
    const answer = await call('GET', 'events', { headers, signal: own.signal });
    link.value = 'live';
    lostAt.value = undefined;
    connected();
    // Without a place to continue from, what was read before may be old.
    if (last === undefined) for (const reset of resets) reset();
    for await (const line of linesOf(answer)) {
      clearTimeout(silence);
      silence = setTimeout(end, SILENCE_MS);
      take(line);
    }
  } finally {
    clearTimeout(silence);
    clearTimeout(hidden);
    stop.removeEventListener('abort', end);
    document.removeEventListener('visibilitychange', hide);
  }
}

function take(line: string): void {
  if (line.startsWith('id: ')) last = line.slice(4);
  if (!line.startsWith('data: ')) return;
  const event = JSON.parse(line.slice(6)) as Event;
  if (event.type === 'stream.gap') for (const reset of resets) reset();
  else for (const listener of listeners) listener(event);
}

const wait = (ms: number, stop: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    stop.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

const seen = (stop: AbortSignal) =>
  new Promise<void>((resolve) => {
    document.addEventListener('visibilitychange', () => resolve(), { once: true, signal: stop });
    stop.addEventListener('abort', () => resolve());
  });
