// `svc support diff`: what differs between two bundles, by path. What always differs (times, counters of a running
// server, log lines) is left out.
import { resolve } from 'node:path';
import type { BundleChange, BundleDifference } from '../../schema/bundle.ts';
import { readBundle } from './read-bundle.ts';

const MOST_CHANGES = 1000;
const DEEPEST = 20;
/** Below these nothing is compared. */
const VOLATILE = [
  'host.uptime_seconds',
  'host.load',
  'host.free_memory_mb',
  'host.database_disk.free_bytes',
  'events',
  'server.diagnostics.logs',
  'server.diagnostics.generated_at',
  'server.diagnostics.process',
  'server.diagnostics.operations',
  'server.health.uptime',
  'server.health.uptime_seconds',
];
const VOLATILE_NAMES = ['ms', 'latency_ms', 'duration_ms', 'last_checked', 'oldest', 'newest'];

/** Throws as `readBundle`. */
export function diffBundles(before: string, after: string): BundleDifference {
  const [old, young] = [readBundle(before), readBundle(after)];
  const changes = [
    ...differences('program_version', old.program_version, young.program_version),
    ...differences('', old.sections, young.sections),
  ];
  return { before: resolve(before), after: resolve(after), changes: changes.slice(0, MOST_CHANGES) };
}

function differences(path: string, before: unknown, after: unknown, depth = 0): BundleChange[] {
  if (isVolatile(path) || Object.is(numberless(before), numberless(after))) return [];
  if (!isObject(before) || !isObject(after) || depth > DEEPEST) return [changeAt(path, before, after)];
  const [old, young] = [named(before), named(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(young)])];
  return names.flatMap((name) =>
    differences(path === '' ? name : `${path}.${name}`, old[name], young[name], depth + 1),
  );
}

function changeAt(path: string, before: unknown, after: unknown): BundleChange {
  return { path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}

/** Entries of a list by their own names, so that one that is added does not move all others. */
function named(value: object): Record<string, unknown> {
  if (!Array.isArray(value)) return value as Record<string, unknown>;
  return Object.fromEntries(value.map((entry, at) => [nameOf(entry) ?? String(at), entry]));
}

function nameOf(entry: unknown): string | undefined {
  if (!isObject(entry)) return undefined;
  const { fingerprint, id, name } = entry as Record<string, unknown>;
  return [fingerprint, id, name].find((each): each is string => typeof each === 'string');
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Pseudonyms are numbered by each bundle anew. */
const numberless = (value: unknown) =>
  typeof value === 'string' ? value.replace(/\[(redacted|owner)-\d+\]/g, '[$1]') : value;

const isVolatile = (path: string) =>
  VOLATILE.includes(path) || VOLATILE_NAMES.includes(path.slice(path.lastIndexOf('.') + 1));
