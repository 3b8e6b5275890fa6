// What a rule of the custom provider's contract is: something done to the backend, and what has to come of it.
import type { ConformanceClient } from './client.ts';

export interface Rule {
  /** `<group>.<name>`, as in the report. */
  id: string;
  title: string;
  /** Ids of earlier rules without which this one says nothing. */
  needs?: readonly string[];
  /** The contract lets a backend do without: breaking it is a warning. */
  optional?: true;
  /** 20 s unless given. */
  deadlineMs?: number;
  /** Resolves with what was seen. Rejects with a ServiceError that says what is wrong. */
  look(client: ConformanceClient, signal: AbortSignal): Promise<string>;
}

export interface RuleGroup {
  id: string;
  title: string;
  /** The heading of docs/custom-provider.md where its rules stand. */
  chapter: string;
  rules: readonly Rule[];
}
