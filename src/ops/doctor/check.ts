// What a check of `svc doctor` is. A check looks and reports; it changes nothing that stays. One that throws has failed.
import type { Config } from '../../schema/config.ts';
import type { Verdict } from '../../schema/doctor.ts';
import type { CheckContext } from './context.ts';

export interface Finding {
  verdict: Verdict;
  /** What was seen, a sentence. */
  message: string;
  /** What to do, a sentence. */
  remedy?: string;
}

export interface Check {
  /** Its name in its group. */
  name: string;
  title: string;
  /** 5 s unless given. */
  deadlineMs?: number;
  look(context: CheckContext, signal: AbortSignal): Promise<Finding>;
}

export interface CheckGroup {
  id: string;
  title: string;
  /** Skipped with this reason where there is one. */
  unless?(config: Config): string | undefined;
  checks: readonly Check[];
  /** Runs when all checks are over, however they went, also when none ran. */
  finish?(context: CheckContext): Promise<void>;
}

export const pass = (message: string): Finding => ({ verdict: 'pass', message });
export const warn = (message: string, remedy?: string): Finding => ({
  verdict: 'warn',
  message,
  ...(remedy !== undefined && { remedy }),
});
export const fail = (message: string, remedy?: string): Finding => ({
  verdict: 'fail',
  message,
  ...(remedy !== undefined && { remedy }),
});
export const skip = (message: string): Finding => ({ verdict: 'skip', message });

/** `fail` where strangers rely on it, else `warn`. */
export const failInProduction = ({ production }: CheckContext, message: string, remedy?: string): Finding =>
  production ? fail(message, remedy) : warn(message, remedy);
