// What a check of `svc doctor` is. A check looks and reports; it changes nothing that stays. One that throws has failed.
import type { Config } from '../../schema/config.ts';
import type { Verdict } from '../../schema/doctor.ts';
import type { Patient } from './patient.ts';

export interface Observation {
  verdict: Verdict;
  /** What was seen, a sentence. */
  message: string;
  /** What to do, a sentence. */
  fix?: string;
}

export interface Check {
  /** Its name in its group. */
  name: string;
  title: string;
  /** 5 s unless given. */
  deadlineMs?: number;
  look(patient: Patient, signal: AbortSignal): Promise<Observation>;
}

export interface CheckGroup {
  id: string;
  title: string;
  /** Skipped with this reason where there is one. */
  unless?(config: Config): string | undefined;
  checks: readonly Check[];
  /** Runs when all checks are over, however they went, also when none ran. */
  finish?(patient: Patient): Promise<void>;
}

export const pass = (message: string): Observation => ({ verdict: 'pass', message });
export const warn = (message: string, fix?: string): Observation => ({
  verdict: 'warn',
  message,
  ...(fix !== undefined && { fix }),
});
export const fail = (message: string, fix?: string): Observation => ({
  verdict: 'fail',
  message,
  ...(fix !== undefined && { fix }),
});
export const skip = (message: string): Observation => ({ verdict: 'skip', message });

/** `fail` where strangers rely on it, else `warn`. */
export const failInProduction = ({ production }: Patient, message: string, fix?: string): Observation =>
  production ? fail(message, fix) : warn(message, fix);
