// Shows what a call answers: nothing at first, then data, and data that is marked while the newest call fails.
import type { ComponentChildren, JSX } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Event } from '../../../src/schema/event.ts';
import { type CallOptions, type Failure, get, pages } from '../api/call.ts';
import { pauseOf } from '../api/pace.ts';
import { link, onEvent, onGap } from '../app/stream.ts';
import { shown, shown2 } from './text.tsx';

export interface Loaded<T> {
  data: T | undefined;
  failure: Failure | undefined;
  /** Reads again. */
  again(): void;
}

type Query = NonNullable<CallOptions['query']>;

/** Reads `path` now and every `every` ms. */
export function useGet<T>(path: string | undefined, query: Query = {}, every = 0): Loaded<T> {
  return useRead(path, query, every, (from, stop) => get<T>(from, query, stop));
}

const MOST_LISTED = 1000;

/** The same for a list, of which at most a thousand rows are read, `page` in an answer; all that comes at once for undefined. */
export function useList<T>(path: string, query: Query, every: number, page: number | undefined): Loaded<T[]> {
  return useRead(path, query, every, async (from, signal) => {
    if (page === undefined) return get<T[]>(from, query, signal);
    return (await pages<T>(from, query, { most: MOST_LISTED, page, signal })).rows;
  });
}

/** Calls are given up with the component, and when something else is read. */
function useRead<T>(
  path: string | undefined,
  query: Query,
  every: number,
  read: (path: string, stop: AbortSignal) => Promise<T>,
): Loaded<T> {
  const [state, setState] = useState<{ data?: T; failure?: Failure }>({});
  const asked = JSON.stringify([path, query]);
  const stop = useMemo(() => new AbortController(), [asked]);
  const open = useRef(0);
  const again = useCallback(() => {
    if (path === undefined) return;
    open.current += 1;
    read(path, stop.signal)
      .then(
        (data) => stop.signal.aborted || setState({ data }),
        (failure: Failure) =>
          stop.signal.aborted ||
          setState((now) => (isToldElsewhere(failure, now.data) ? now : { ...now, failure })),
      )
      .finally(() => {
        open.current -= 1;
      });
  }, [asked]);
  useEffect(() => {
    setState({});
    again();
    return () => stop.abort();
  }, [asked]);
  // A call that waits for its turn is as good as a new one.
  useEvery(every, () => open.current === 0 && again());
  useReturn(again);
  return { data: state.data, failure: state.failure, again };
}

/** Calls `again` when the server is back after it was away. */
function useReturn(again: () => void): void {
  const wasAway = useRef(false);
  const isLive = link.value === 'live';
  if (link.value === 'lost') wasAway.current = true;
  useEffect(() => {
    if (!isLive || !wasAway.current) return;
    wasAway.current = false;
    again();
  }, [isLive]);
}

/** The head of the page says that the server is away: data stays, and is read again later. */
const isToldElsewhere = ({ status }: Failure, data: unknown) => data !== undefined && status === 0;

/** Calls `tick` every `ms` while the page is seen, less often where the server refuses calls; never for 0. */
function useEvery(ms: number, tick: () => void): void {
  const latest = useRef(tick);
  latest.current = tick;
  useEffect(() => {
    if (ms === 0) return undefined;
    let timer: ReturnType<typeof setTimeout>;
    const plan = () => {
      timer = setTimeout(() => {
        plan();
        if (!document.hidden) latest.current();
      }, pauseOf(ms));
    };
    plan();
    return () => clearTimeout(timer);
  }, [ms]);
}

const GATHER_MS = 500;
const LEAST_PAUSE_MS = 5000;

/** Calls `again` soon after events that `matches` names, and when events may have been missed; not more than once in five seconds. */
export function useEvents(matches: ((event: Event) => boolean) | undefined, again: () => void): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    if (matches === undefined) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let askedAt = 0;
    const soon = () => {
      const pause = pauseOf(LEAST_PAUSE_MS) - (Date.now() - askedAt);
      timer ??= setTimeout(
        () => {
          timer = undefined;
          askedAt = Date.now();
          latest.current();
        },
        Math.max(GATHER_MS, pause),
      );
    };
    const stops = [onEvent((event) => matches(event) && soon()), onGap(soon)];
    return () => {
      clearTimeout(timer);
      for (const stop of stops) stop();
    };
  }, [matches]);
}

export function Failed({ failure, again }: { failure: Failure | Error; again?: () => void }): JSX.Element {
  const { status, code, requestId, retryAfter } = failure as Failure;
  return (
    <div class="failed" role="alert">
      <p>{shown2(failure.message)}</p>
      {retryAfter !== undefined && <Countdown key={requestId} seconds={retryAfter} />}
      {code !== undefined && (
        <p class="small">
          {shown(code)}
          {status ? ` (${status})` : ''}
          {requestId ? `, request ${shown(requestId)}` : ''}
        </p>
      )}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Until when a call would be refused again. */
function Countdown({ seconds }: { seconds: number }): JSX.Element {
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    if (left <= 0) return undefined;
    const timer = setTimeout(() => setLeft(left - 1), 1000);
    return () => clearTimeout(timer);
  }, [left]);
  return <p aria-hidden="true">{left > 0 ? `Possible again in ${left} s.` : 'Possible again now.'}</p>;
}

export function Show<T>({
  of: { data, failure, again },
  children,
}: {
  of: Loaded<T>;
  children(data: T): ComponentChildren;
}): JSX.Element {
  return (
    <>
      {failure && <Failed failure={failure} again={again} />}
      {data === undefined ? !failure && <p class="loading">Loading …</p> : children(data)}
    </>
  );
}
