// A redactor that accepts new secrets while the server runs. It keeps replaced keys, which calls in flight may still carry.
import { type Redactor, redactor } from './engine.ts';

export interface GrowingRedactor extends Redactor {
  /** Masks these secrets from now on. */
  add(secrets: readonly string[]): void;
  /** Masks a secret until the returned function is called; each call counts. */
  hold(secret: string): () => void;
}

export function growingRedactor(secrets: readonly string[]): GrowingRedactor {
  let known = [...secrets];
  const held = new Map<string, number>();
  let current: Redactor | undefined = redactor({ secrets: known });
  // Many secrets may come before the next text.
  const now = () => {
    current ??= redactor({ secrets: [...new Set([...known, ...held.keys()])] });
    return current;
  };
  const count = (secret: string, change: 1 | -1) => {
    const before = held.get(secret) ?? 0;
    if (before + change > 0) held.set(secret, before + change);
    else held.delete(secret);
    if (before === 0 || before + change === 0) current = undefined;
  };
  return {
    text: (text) => now().text(text),
    cut: (text, most) => now().cut(text, most),
    value: (value) => now().value(value),
    flat: (fields) => now().flat(fields),
    quoted: (text) => now().quoted(text),
    add: (more) => {
      known = [...new Set([...known, ...more])];
      current = undefined;
    },
    hold: (secret) => {
      count(secret, 1);
      let isHeld = true;
      return () => {
        if (isHeld) count(secret, -1);
        isHeld = false;
      };
    },
  };
}
