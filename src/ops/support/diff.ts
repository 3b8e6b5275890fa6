// `svc support diff`: what differs between two bundles, by path. What always differs (times, counters of a running
// server, log lines) is left out.
import { resolve } from 'node:path';
import type { BundleChange, BundleDifference } from '../../schema/bundle.ts';
import { readBundle } from './read-bundle.ts';

const MOST_CHANGES = 1000;
const DEEPEST = 20;
const LONGEST_NAME = 200;
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
  const changes: BundleChange[] = [];
  collect(changes, 'program_version', old.program_version, young.program_version);
  collect(changes, '', old.sections, young.sections);
  return { before: resolve(before), after: resolve(after), changes };
}

/** Adds what differs to `changes`, until there are enough. */
function collect(changes: BundleChange[], path: string, before: unknown, after: unknown, depth = 0): void {
  if (changes.length >= MOST_CHANGES) return;
  if (isVolatile(path) || Object.is(numberless(before), numberless(after))) return;
  if (!isObject(before) || !isObject(after) || depth > DEEPEST) {
    changes.push(changeAt(path, before, after));
    return;
  }
  const [old, young] = [named(before), named(after)];
  for (const name of new Set([...Object.keys(old), ...Object.keys(young)]))
    collect(changes, pathOf(path, name), own(old, name), own(young, name), depth + 1);
}

const own = (value: Record<string, unknown>, name: string) =>
  Object.hasOwn(value, name) ? value[name] : undefined;

/** Every path below a long name would be as long. */
function pathOf(path: string, name: string): string {
  const shown = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
  return path === '' ? shown : `${path}.${shown}`;
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

/** Each bundle numbers its own pseudonyms. */
const numberless = (value: unknown) =>
  typeof value === 'string' ? value.replace(/\[(redacted|owner)-\d+\]/g, '[$1]') : value;

const isVolatile = (path: string) =>
  VOLATILE.includes(path) || VOLATILE_NAMES.includes(path.slice(path.lastIndexOf('.') + 1));
