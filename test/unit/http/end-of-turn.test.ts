// Answers of one turn leave together: all that asked in it, in their order, before the next turn begins.
import { expect, it } from 'vitest';
import { endOfTurn } from '../../../src/http/end-of-turn.ts';

const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));

it('those who ask in one turn continue in their order at its end, and later ones at the end of theirs', async () => {
  const seen: string[] = [];
  const note = (name: string) => endOfTurn().then(() => seen.push(name));
  void note('first');
  await Promise.resolve();
  void note('second');
  expect(seen).toEqual([]);
  const next = nextTurn();
  await next;
  void note('third');
  expect(seen).toEqual(['first', 'second']);
  await nextTurn();
  expect(seen).toEqual(['first', 'second', 'third']);
});
