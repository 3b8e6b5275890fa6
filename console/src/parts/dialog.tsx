// Dialogs: a form of a few fields that ends in a call, and a question before something is lost.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Failed } from './load.tsx';
import { useModal } from './modal.ts';
import { shown } from './text.tsx';

export interface Field {
  name: string;
  label: string;
  kind?: 'text' | 'number' | 'area';
  options?: readonly string[];
  value?: string;
  hint?: string;
  required?: boolean;
}

export interface DialogProps {
  title: string;
  /** What is lost, or what happens. */
  text?: string;
  fields?: readonly Field[];
  action: string;
  danger?: boolean;
  /** What has to be typed before the action is possible, as it is shown: what one cannot see one cannot type. */
  confirm?: string;
  /** What the action would do with these values, asked for while one types. */
  foresee?(values: Record<string, string>, signal: AbortSignal): Promise<string>;
  run(values: Record<string, string>): Promise<unknown>;
  onClose(): void;
}

export function Dialog({
  title,
  text,
  fields = [],
  action,
  danger,
  confirm,
  foresee,
  run,
  onClose,
}: DialogProps): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  const [failure, setFailure] = useState<Error | undefined>();
  const [busy, setBusy] = useState(false);
  const [typed, setTyped] = useState('');
  useModal(box, onClose);
  const foresight = useForesight(box, foresee);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    try {
      await run(valuesOf(event.target as HTMLFormElement));
      // Left meanwhile, there may be another one.
      if (box.current) onClose();
    } catch (error) {
      setFailure(error as Error);
      setBusy(false);
    }
  };
  return (
    <dialog ref={box} aria-labelledby="dialog-title">
      <form onSubmit={submit} onInput={foresight.ask}>
        <h2 id="dialog-title">{shown(title)}</h2>
        {text && <p>{shown(text)}</p>}
        {fields.map((field) => (
          <FieldRow key={field.name} field={field} />
        ))}
        {confirm !== undefined && (
          <label class="field">
            <span>Type {shown(confirm)} to confirm</span>
            <input
              value={typed}
              autoComplete="off"
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
        )}
        {foresight.text && <p role="status">{foresight.text}</p>}
        {failure && <Failed failure={failure} />}
        <p class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={danger ? 'danger' : 'primary'}
            disabled={busy || (confirm !== undefined && typed !== shown(confirm))}
          >
            {busy ? 'Working …' : action}
          </button>
        </p>
      </form>
    </dialog>
  );
}

const valuesOf = (form: HTMLFormElement) => Object.fromEntries(new FormData(form)) as Record<string, string>;

const TYPING_MS = 300;

/** The newest answer to what is in the form of the dialog. */
function useForesight(
  box: { current: HTMLDialogElement | null },
  foresee: DialogProps['foresee'],
): { text: string; ask(): void } {
  const [text, setText] = useState('');
  const asking = useRef<AbortController | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const ask = () => {
    asking.current?.abort();
    clearTimeout(timer.current);
    if (!foresee) return;
    timer.current = setTimeout(() => {
      const form = box.current?.querySelector('form');
      if (!form) return;
      const own = new AbortController();
      asking.current = own;
      foresee(valuesOf(form), own.signal).then(
        (found) => own.signal.aborted || setText(found),
        (failure: Error) => own.signal.aborted || setText(failure.message),
      );
    }, TYPING_MS);
  };
  useEffect(
    () => () => {
      asking.current?.abort();
      clearTimeout(timer.current);
    },
    [],
  );
  return { text, ask };
}

export function FieldRow({ field }: { field: Field }): JSX.Element {
  const { name, label, kind = 'text', options, value = '', hint, required = false } = field;
  const common = { name, required, ...(hint && { 'aria-describedby': `${name}-hint` }) };
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: one of the three controls is inside.
    <label class="field">
      <span>{label}</span>
      {options ? (
        <select {...common} defaultValue={value}>
          {options.map((option) => (
            <option key={option} value={option} selected={option === value}>
              {shown(option) || 'default'}
            </option>
          ))}
        </select>
      ) : kind === 'area' ? (
        <textarea {...common} rows={5} defaultValue={value} spellcheck={false} />
      ) : (
        <input
          {...({ type: kind } as object)}
          {...common}
          defaultValue={value}
          autoComplete="off"
          spellcheck={false}
        />
      )}
      {hint && (
        <small id={`${name}-hint`} class="hint">
          {hint}
        </small>
      )}
    </label>
  );
}

/** `name=value` for each. */
export const pairTexts = (pairs: Readonly<Record<string, string>>): string[] =>
  Object.entries(pairs).map(([name, value]) => `${name}=${value}`);

/** `a=b` in each line. Throws for a line without an equals sign. */
export function pairsOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=');
      if (at < 1) throw new Error(`Write name=value in each line: ${line}`);
      return [line.slice(0, at).trim(), line.slice(at + 1)];
    }),
  );
}

/** Leaves out what is empty; numbers for the names in `numbers`. */
export function filled(
  values: Record<string, string>,
  numbers: readonly string[] = [],
): Record<string, unknown> {
  const given = Object.entries(values).filter(([, value]) => value.trim() !== '');
  return Object.fromEntries(
    given.map(([name, value]) => [name, numbers.includes(name) ? Number(value) : value]),
  );
}
