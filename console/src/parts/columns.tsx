// Which columns a table has, and in which order: in the address, so that a link shows the same, and kept for the next visit.
import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { place, setQuery } from '../app/router.ts';
import { keepColumns, keptColumns } from '../app/settings.ts';
import { useModal } from './modal.ts';
import type { Column } from './table.tsx';

export interface Choice<T> {
  columns: readonly Column<T>[];
  /** The button that opens the choice. */
  button: JSX.Element;
}

/** `usual`: ids that are shown unless somebody chose. `always`: the column that cannot be left out. */
export function useColumns<T>(
  table: string,
  all: readonly Column<T>[],
  { usual, always }: { usual: readonly string[]; always: string },
): Choice<T> {
  const [isOpen, setIsOpen] = useState(false);
  const text = place.value.query.get('columns') ?? keptColumns(table);
  const ids = useMemo(() => {
    const asked = (text ?? '').split(',').filter((id) => all.some((column) => column.id === id));
    const chosen = asked.length === 0 ? usual : [...new Set(asked)];
    return chosen.includes(always) ? chosen : [always, ...chosen];
  }, [text, all]);
  const columns = useMemo(
    () => ids.flatMap((id) => all.find((column) => column.id === id) ?? []),
    [ids, all],
  );
  const choose = (next: readonly string[] | undefined) => {
    keepColumns(table, next?.join());
    setQuery({ columns: next?.join() });
  };
  const button = (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        Columns
      </button>
      {isOpen && (
        <Chooser
          all={all as readonly Column<never>[]}
          ids={ids}
          always={always}
          choose={choose}
          onClose={() => setIsOpen(false)}
        />
      )}
    </>
  );
  return { columns, button };
}

interface ChooserProps {
  all: readonly Column<never>[];
  ids: readonly string[];
  always: string;
  choose(ids: readonly string[] | undefined): void;
  onClose(): void;
}

function Chooser({ all, ids, always, choose, onClose }: ChooserProps): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useModal(box, onClose);
  const hidden = all.filter(({ id }) => !ids.includes(id)).map(({ id }) => id);
  const titleOf = (id: string) => all.find((column) => column.id === id)?.title ?? id;
  const turn = (id: string) => choose(ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]);
  const move = (at: number, by: number) => {
    const next = [...ids];
    next.splice(at + by, 0, ...next.splice(at, 1));
    choose(next);
  };
  const row = (id: string, at: number) => (
    <li key={id} class="card-head">
      <label>
        <input type="checkbox" checked={at >= 0} disabled={id === always} onChange={() => turn(id)} />{' '}
        {titleOf(id)}
      </label>
      {at >= 0 && (
        <span>
          <Move id={titleOf(id)} text="Earlier" isOff={at === 0} act={() => move(at, -1)} />{' '}
          <Move id={titleOf(id)} text="Later" isOff={at === ids.length - 1} act={() => move(at, 1)} />
        </span>
      )}
    </li>
  );
  return (
    <dialog ref={box} aria-labelledby="columns-title">
      <h2 id="columns-title">Columns</h2>
      <ul class="plain choice">
        {ids.map(row)}
        {hidden.map((id) => row(id, -1))}
      </ul>
      <p class="buttons">
        <button type="button" onClick={() => choose(undefined)}>
          The usual ones
        </button>
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </p>
    </dialog>
  );
}

interface MoveProps {
  id: string;
  text: 'Earlier' | 'Later';
  isOff: boolean;
  act(): void;
}

function Move({ id, text, isOff, act }: MoveProps): JSX.Element {
  return (
    <button type="button" class="small" aria-label={`${text}: ${id}`} disabled={isOff} onClick={act}>
      {text}
    </button>
  );
}
