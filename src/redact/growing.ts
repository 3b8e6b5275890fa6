// A redactor that accepts new secrets while the server runs. It keeps replaced keys, which calls in flight may still carry.
import { type Redactor, redactor } from './engine.ts';

export interface GrowingRedactor extends Redactor {
  /** Masks these secrets from now on. */
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
