// `svc support bundle`: everything that helps somebody else to help, in one file without secrets.
import { existsSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { orAfter } from '../../domain/timeout.ts';
import { partFile, refuseTaken } from '../../host/part-file.ts';
import { type Redactor, redactor } from '../../redact/engine.ts';
import { type Ledger, redactionLedger } from '../../redact/ledger.ts';
import {
  BUNDLE_FORMAT,
  type Bundle,
  type BundlePreview,
  type BundleReport,
  type SectionEntry,
} from '../../schema/bundle.ts';
import { CONFIG_KEYS } from '../../schema/config-keys.ts';
import { ownersIn } from './owners.ts';
import { type BundleSources, SECTIONS, type Section } from './sections.ts';

/** A section is cut where it has more parts than this; 1,000 log lines have about 20,000. */
const LIMITS = { depth: 12, nodes: 50_000, text: 16_384, total: Number.POSITIVE_INFINITY };
/** The limit on the JSON of one section. */
const MOST_BYTES = 4 * 1024 * 1024;

export interface BundleRequest {
  output: string;
  /** Replaces a file that is there. */
  force?: boolean | undefined;
}

/** What a bundle would hold; nothing is collected. */
export function previewBundle(sources: BundleSources): BundlePreview {
  return {
    sections: SECTIONS.map(({ id, title, skipped }) => {
      const reason = skipped?.(sources);
      return { section: id, title, collected: reason === undefined, ...(reason !== undefined && { reason }) };
    }),
  };
}

/**
 * Collects, redacts and writes atomically, with mode 0600. Throws `conflict` when the output exists; a section that
 * fails becomes a line of the index.
 */
export async function writeBundle(request: BundleRequest, sources: BundleSources): Promise<BundleReport> {
  const output = resolve(request.output);
  if (!request.force && existsSync(output)) throw refuseTaken(output);
  const bundle = await makeBundle(sources);
  const text = `${JSON.stringify(bundle, null, 2)}\n`;
  const part = partFile(output);
  try {
    writeFileSync(part.path, text);
    part.publish(request.force === true);
  } finally {
    part.discard();
  }
  return { output, size_bytes: Buffer.byteLength(text), index: bundle.index, redactions: bundle.redactions };
}

export async function makeBundle(sources: BundleSources): Promise<Bundle> {
  const collected: Collected[] = [];
  for (const section of SECTIONS) collected.push(await collectSection(section, sources));
  const ledger = redactionLedger();
  const clean = bundleRedactor(sources, collected, ledger);
  const sections: Bundle['sections'] = {};
  const index = collected.map(({ entry, content }) => {
    const safe = { ...entry, ...(entry.reason !== undefined && { reason: clean.text(entry.reason) }) };
    if (content === undefined) return safe;
    const copy = (clean.value({ [entry.section]: content }) as Record<string, unknown>)[entry.section];
    const bytes = Buffer.byteLength(JSON.stringify(copy) ?? '');
    if (bytes > MOST_BYTES) return { ...safe, status: 'failed' as const, bytes, reason: 'it is too large' };
    sections[entry.section] = copy;
    return { ...safe, bytes };
  });
  return {
    format: BUNDLE_FORMAT,
    created_at: new Date(sources.clock.now()).toISOString(),
    program_version: sources.programVersion,
    index,
    sections,
    redactions: ledger.entries(),
  };
}

function bundleRedactor(sources: BundleSources, collected: readonly Collected[], ledger: Ledger): Redactor {
  return redactor({
    secrets: secretsOf(sources),
    mark: ledger.mark,
    further: ownersIn(
      collected.map(({ content }) => content),
      ledger,
    ),
    limits: LIMITS,
  });
}

/** The settings of the command line's own connection; no keys of the configuration. */
const CLIENT_SECRETS = ['SVC_API_KEY'];

/** Every secret that this command can know: those of the configuration, as far as it can be read, and of its environment. */
function secretsOf({ reading, env }: Pick<BundleSources, 'reading' | 'env'>): string[] {
  const names = [...CONFIG_KEYS.filter(({ secret }) => secret).map((key) => key.env), ...CLIENT_SECRETS];
  const given = names.flatMap((name) => env[name] ?? []);
  return [...new Set([...reading.secrets, ...given].filter((secret) => secret !== ''))];
}

const DEADLINE_MS = 60_000;

interface Collected {
  entry: SectionEntry;
  /** Not yet redacted; undefined unless the entry is `ok`. */
  content: unknown;
}

/** One that fails or takes too long does not lose the others. */
async function collectSection(section: Section, sources: BundleSources): Promise<Collected> {
  const { id, title } = section;
  const entry: SectionEntry = { section: id, title, status: 'ok', bytes: 0, duration_ms: 0 };
  const reason = section.skipped?.(sources);
  if (reason !== undefined) return { entry: { ...entry, status: 'skipped', reason }, content: undefined };
  const started = sources.clock.monotonic();
  const took = () => Math.round(sources.clock.monotonic() - started);
  try {
    const content = await orAfter(sources.clock, DEADLINE_MS, section.collect(sources), tooSlow);
    return { entry: { ...entry, duration_ms: took() }, content };
  } catch (error) {
    const failed = { ...entry, status: 'failed', reason: reasonOf(error), duration_ms: took() } as const;
    return { entry: failed, content: undefined };
  }
}

function tooSlow(): never {
  throw new Error(`it took longer than ${DEADLINE_MS / 1000} s`);
}

function reasonOf(error: unknown): string {
  if (error instanceof ServiceError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : 'unknown';
}
