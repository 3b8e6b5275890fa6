// Ends or extends many sandboxes after a question that says how many: four at a time, with the result of each. It can be stopped, and
// waits where the server takes no more calls.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { call, Failure, patiently } from '../api/call.ts';
import { Dialog, type DialogProps } from '../parts/dialog.tsx';
import { LogBox } from '../parts/log-box.tsx';
import { useModal } from '../parts/modal.ts';
import { shown } from '../parts/text.tsx';

export type BulkKind = 'end' | 'extend';

export interface BulkProps {
  kind: BulkKind;
  ids: readonly string[];
  /** `failed`: those for which it did not work, or that were not reached. */
  onClose(failed: readonly string[]): void;
}

const AT_ONCE = 4;
const DONE = { end: 'ended', extend: 'extended' } as const;

export const countText = (count: number): string =>
  count === 1 ? '1 sandbox' : `${count.toLocaleString('en')} sandboxes`;

/** The ids are those of its first paint, whatever is marked later. */
export function Bulk({ kind, ids, onClose }: BulkProps): JSX.Element {
  const all = useRef(ids).current;
  const [values, setValues] = useState<Record<string, string> | undefined>();
  const started = useRef(false);
  if (values) return <Results kind={kind} ids={all} values={values} onClose={onClose} />;
  return (
    <Dialog
      {...questionOf(kind, all)}
      run={async (given) => {
        started.current = true;
        setValues(given);
      }}
      onClose={() => started.current || onClose(all)}
    />
  );
}

function questionOf(kind: BulkKind, ids: readonly string[]): Omit<DialogProps, 'run' | 'onClose'> {
  const count = countText(ids.length);
  if (kind === 'extend')
    return {
      title: `Extend ${count}`,
      text: 'They then expire no earlier than this time from now.',
      fields: [
        { name: 'ttl', label: 'Time from now', value: '1h', required: true, hint: 'For example 15m or 2h.' },
      ],
      action: `Extend ${count}`,
    };
  return {
    title: `End ${count}`,
    text: 'Their processes and their files are lost. This cannot be undone.',
    ...(ids.length > 1 && { confirm: String(ids.length) }),
    action: `End ${count}`,
    danger: true,
  };
}

interface Result {
  id: string;
  /** Why it did not work. */
  failure?: string;
}

function Results({
  kind,
  ids,
  values,
  onClose,
}: BulkProps & { values: Record<string, string> }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  const stop = useRef(new AbortController()).current;
  const [results, setResults] = useState<readonly Result[]>([]);
  const [isOver, setIsOver] = useState(false);
  const failed = results.filter(({ failure }) => failure !== undefined);
  const leave = () => {
    stop.abort();
    const done = new Set(results.filter(({ failure }) => failure === undefined).map(({ id }) => id));
    onClose(ids.filter((id) => !done.has(id)));
  };
  useModal(box, leave);
  useEffect(() => {
    const told = (result: Result) => setResults((now) => [...now, result]);
    void each(ids, stop.signal, async (id) => told(await outcomeOf(kind, id, values, stop.signal))).then(() =>
      setIsOver(true),
    );
  }, []);
  const done = results.length - failed.length;
  const left = ids.length - results.length;
  return (
    <dialog ref={box} aria-labelledby="bulk-title">
      <h2 id="bulk-title">{questionOf(kind, ids).title}</h2>
      <progress aria-label="Progress" max={ids.length} value={results.length} />
      <p role="status">
        {done.toLocaleString('en')} {DONE[kind]}, {failed.length.toLocaleString('en')} failed
        {left > 0 && `, ${left.toLocaleString('en')} ${isOver ? 'not touched' : 'left'}`}.
      </p>
      <LogBox label="Results" text={textOf(kind, results)} />
      <p class="buttons">
        {isOver ? (
          <button type="button" key="close" class="primary" onClick={leave}>
            Close
          </button>
        ) : (
          <button type="button" key="stop" onClick={() => stop.abort()}>
            Stop
          </button>
        )}
      </p>
    </dialog>
  );
}

/** Those that failed come first. */
function textOf(kind: BulkKind, results: readonly Result[]): string {
  const lines = (isFailed: boolean) =>
    results
      .filter(({ failure }) => (failure !== undefined) === isFailed)
      .map(({ id, failure = DONE[kind] }) => `${id} ${shown(failure)}`);
  return [...lines(true), ...lines(false)].join('\n');
}

async function outcomeOf(
  kind: BulkKind,
  id: string,
  body: Record<string, string>,
  signal: AbortSignal,
): Promise<Result> {
  // What was begun is not given up: its result would not be known.
  const once = () =>
    kind === 'end' ? call('DELETE', `sandboxes/${id}`) : call('POST', `sandboxes/${id}/extend`, { body });
  try {
    await patiently(once, signal);
    return { id };
  } catch (error) {
    if (kind === 'end' && error instanceof Failure && error.status === 404) return { id };
    return { id, failure: signal.aborted ? 'was not reached' : (error as Error).message };
  }
}

async function each(
  ids: readonly string[],
  stop: AbortSignal,
  work: (id: string) => Promise<void>,
): Promise<void> {
  const left = ids.values();
  const next = async () => {
    for (const id of left) {
      if (stop.aborted) return;
      await work(id);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}
