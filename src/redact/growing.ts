// A redactor that learns: keys change while the server runs, and calls in flight may still carry those that were replaced.
import { type Redactor, redactor } from './engine.ts';

export interface GrowingRedactor extends Redactor {
  /** From now on these are masked, too. */
  add(secrets: readonly string[]): void;
}

export function growingRedactor(secrets: readonly string[]): GrowingRedactor {
  let known = [...secrets];
  let current = redactor({ secrets: known });
  return {
    text: (text) => current.text(text),
    cut: (text, most) => current.cut(text, most),
    value: (value) => current.value(value),
    add: (more) => {
      known = [...new Set([...known, ...more])];
      current = redactor({ secrets: known });
    },
  };
}
