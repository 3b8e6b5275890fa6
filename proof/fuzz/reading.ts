// What a format of the fuzzer consists of.
import type { Chance } from './chance.ts';

/** A right input. */
export type Sample = (chance: Chance) => Buffer;
/** Throws for what is wrong with the reader; its own errors pass. */
export type Read = (chance: Chance, bytes: Buffer) => void | Promise<void>;

export function require(isRight: boolean, says: string): void {
  if (!isRight) throw new Error(says);
}
