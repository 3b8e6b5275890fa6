// Shows what a call answers: nothing at first, then data, and data that is marked while the newest call fails.
import type { ComponentChildren, JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, get } from '../api/call.ts';
import { onEvent, onGap } from '../app/stream.ts';

export interface Loaded<T> {
  data: T | undefined;
  failure: Failure | undefined;
  /** Reads again. */
  again(): void;
}

/** Reads `path` now and every `every` ms. */
export function useGet<T>(
  path: string | undefined,
  query: Record<string, string | number | boolean | undefined> = {},
  every = 0,
): Loaded<T> {
  const [state, setState] = useState<{ data?: T; failure?: Failure }>({});
  const asked = JSON.stringify([path, query]);
  const latest = useRef(asked);
  latest.current = asked;
  const again = useCallback(() => {
    if (path === undefined) return;
    get<T>(path, query).then(
      (data) => latest.current === asked && setState({ data }),
      (failure) => latest.current === asked && setState((now) => ({ ...now, failure: failure as Failure })),
    );
  }, [asked]);
  useEffect(() => {
    setState({});
    again();
  }, [asked]);
  useEvery(every, again);
  return { data: state.data, failure: state.failure, again };
}

/** Calls `tick` every `ms` while the page is seen; never for 0. */
function useEvery(ms: number, tick: () => void): void {
  const latest = useRef(tick);
  latest.current = tick;
  useEffect(() => {
    if (ms === 0) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) latest.current();
    }, ms);
    return () => clearInterval(timer);
  }, [ms]);
}

const GATHER_MS = 500;

/** Calls `again` soon after events whose types begin with one of these, and when events may have been missed. */
export function useEvents(begins: readonly string[] | undefined, again: () => void): void {
  const latest = useRef(again);
  latest.current = again;
  useEffect(() => {
    if (begins === undefined) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        latest.current();
      }, GATHER_MS);
    };
    const stops = [
      onEvent(({ type }) => begins.some((begin) => type.startsWith(begin)) && soon()),
      onGap(soon),
    ];
    return () => {
      clearTimeout(timer);
      for (const stop of stops) stop();
    };
  }, [begins]);
}

export function Failed({ failure, again }: { failure: Failure | Error; again?: () => void }): JSX.Element {
  const { status, code, requestId } = failure as Failure;
  return (
    <div class="failed" role="alert">
      <p>{failure.message}</p>
      {code !== undefined && (
        <p class="small">
          {code}
          {status ? ` (${status})` : ''}
          {requestId ? `, request ${requestId}` : ''}
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
