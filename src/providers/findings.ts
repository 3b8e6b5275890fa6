// Findings of a provider's probe.
import { asServiceError } from '../domain/errors.ts';
import type { ProbeReport } from './provider.ts';

export type Finding = ProbeReport['findings'][number];

/** The finding `name` with the words of `look`, or of its failure. Never rejects. */
export async function finding(name: string, look: () => Promise<string>): Promise<Finding> {
  try {
    return { name, ok: true, message: await look() };
  } catch (error) {
    return { name, ok: false, message: explained(error) };
  }
}

/** The message of an error and its remedy. */
export function explained(error: unknown): string {
  const { message, remedy } = asServiceError(error);
  return [message, remedy].filter(Boolean).join(' ');
}
