// Ctrl+K: goes to a screen, a sandbox or an owner by a part of its name, and starts actions.
import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Identity } from '../../../src/schema/session.ts';
import { useModal } from '../parts/modal.ts';
import { shown } from '../parts/text.tsx';
import { matcher } from '../parts/words.ts';
import * as census from './census.ts';
import { go } from './router.ts';
import { SCREENS } from './screens.ts';
import { logOut } from './session.ts';

interface Choice {
  title: string;
  /** What kind of thing it is. */
  kind: string;
  /** What is searched. */
  text: string;
  run(): void;
}

const MOST_SHOWN = 12;

export function Palette({ who, onClose }: { who: Identity; onClose(): void }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const all = useMemo(() => choicesOf(who), [census.version.value]);
  const found = useMemo(() => matching(all, text), [all, text]);
  const marked = Math.min(at, found.length - 1);
  useModal(box, onClose);
  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    onClose();
    choice.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') choose(found[marked]);
    else if (step !== undefined) setAt(Math.max(0, Math.min(found.length - 1, marked + step)));
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={box} class="palette" aria-label="Go to">
      <input
        type="text"
        role="combobox"
        aria-label="Screen, sandbox, owner or action"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-autocomplete="list"
        {...(found.length > 0 && { 'aria-activedescendant': `palette-${marked}` })}
        placeholder="Screen, sandbox, owner or action"
        autoComplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id="palette-list" aria-label="Found">
        {found.map((choice, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
          <div
            role="option"
            key={choice.kind + choice.title}
            id={`palette-${index}`}
            aria-selected={index === marked}
            onClick={() => choose(choice)}
          >
            <span>{shown(choice.title)}</span> <span class="hint">{choice.kind}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="hint">Nothing has this name.</p>}
    </dialog>
  );
}

function choicesOf(who: Identity): Choice[] {
  const choice = (kind: string, title: string, run: () => void, more = ''): Choice => ({
    ...{ kind, title, run, text: `${kind} ${title} ${more}` },
  });
  const screens = SCREENS.filter(
    ({ path, hidden, admin }) => (!hidden || path === 'spawn') && (!admin || who.administers),
  );
  const owners = new Set(census.sandboxes().flatMap(({ owner_id }) => owner_id ?? []));
  return [
    ...screens.map(({ path, title }) => choice('screen', title, () => go(path))),
    ...(who.session ? [choice('action', 'Log out', () => void logOut())] : []),
    ...census
      .sandboxes()
      .map(({ id, owner_id = '', state }) =>
        choice(`sandbox, ${state}`, id, () => go(`sandboxes/${id}`), owner_id),
      ),
    ...[...owners].map((owner) => choice('sandboxes of', owner, () => go('sandboxes', { q: owner }))),
    ...(who.administers
      ? [...owners].map((owner) => choice('usage of', owner, () => go('usage', { owner })))
      : []),
  ];
}

function matching(all: readonly Choice[], text: string): Choice[] {
  const matches = matcher(text);
  const found: Choice[] = [];
  for (const choice of all) {
    if (!matches || matches(choice.text)) found.push(choice);
    if (found.length === MOST_SHOWN) break;
  }
  return found;
}
