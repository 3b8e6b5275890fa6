// The keys of the keyboard, as a dialog that ? opens.
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { useModal } from '../parts/modal.ts';

const KEYS: readonly (readonly [string, string])[] = [
  ['Ctrl+K', 'go to a screen, a sandbox or an owner'],
  ['/', 'go to the filter'],
  [
    'g then a letter',
    'go to a screen: o overview, s sandboxes, u usage, t templates, i images, e events, w workers, p providers, q quotas, a audit, k keys, d explorer',
  ],
  ['arrows, Home, End, Page Up, Page Down', 'move in a table'],
  ['Enter', 'open a row'],
  ['x', 'mark a row, in the list of sandboxes'],
  ['Delete', 'end the marked sandboxes, or the one of the row, after a question'],
  ['Ctrl+Shift+Escape', 'leave the terminal'],
];

export function KeysHelp({ onClose }: { onClose(): void }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useModal(box, onClose);
  return (
    <dialog ref={box} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="facts">
        {KEYS.map(([keys, what]) => (
          <div key={keys}>
            <dt>{keys}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </p>
    </dialog>
  );
}
