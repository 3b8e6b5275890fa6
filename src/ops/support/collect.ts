// The sections of a bundle, each by itself: one that fails, takes too long or is too large does not lose the others.
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { SectionEntry } from '../../schema/bundle.ts';
import type { BundleSources, Section } from './sources.ts';

const DEADLINE_MS = 60_000;

export interface Collected {
  entry: SectionEntry;
  /** Not yet redacted; undefined unless the entry is `ok`. */
  content: unknown;
}

export async function collectSection(section: Section, sources: BundleSources): Promise<Collected> {
  const { id, title } = section;
  const entry: SectionEntry = { section: id, title, status: 'ok', bytes: 0, duration_ms: 0 };
  const reason = section.skipped(sources);
  if (reason !== undefined) return { entry: { ...entry, status: 'skipped', reason }, content: undefined };
  const started = sources.clock.monotonic();
  const took = () => Math.round(sources.clock.monotonic() - started);
  try {
    const content = await within(sources.clock, section.collect(sources));
    return { entry: { ...entry, duration_ms: took() }, content };
  } catch (error) {
    const failed = { ...entry, status: 'failed', reason: reasonOf(error), duration_ms: took() } as const;
    return { entry: failed, content: undefined };
  }
}

async function within<T>(clock: Clock, work: Promise<T>): Promise<T> {
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    const timer = clock.after(DEADLINE_MS, () =>
      reject(new Error(`it took longer than ${DEADLINE_MS / 1000} s`)),
    );
    cancel = () => timer.cancel();
  });
  return Promise.race([work, late]).finally(cancel);
}

function reasonOf(error: unknown): string {
  if (error instanceof ServiceError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : 'unknown';
}
