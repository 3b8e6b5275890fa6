// The support bundle: one JSON document without secrets. `format` rises when a reader would have to know.

export const BUNDLE_FORMAT = 1;

export const SECTION_IDS = [
  'program',
  'host',
  'configuration',
  'lint',
  'doctor',
  'database',
  'events',
  'server',
] as const;
export type SectionId = (typeof SECTION_IDS)[number];

export interface SectionEntry {
  section: SectionId;
  title: string;
  status: 'ok' | 'skipped' | 'failed';
  /** Why it is not there. */
  reason?: string;
  /** The size of its JSON. */
  bytes: number;
  duration_ms: number;
}

/** The values that one rule removed at one location. */
export interface Redaction {
  /** The section and the keys to it, joined by dots; all entries of a list share one location. */
  place: string;
  /** `known`, `schema`, `key`, `owner`, or a shape of secrets in text. */
  rule: string;
  count: number;
  /** The pseudonyms, at most ten; the same value has the same one in the entire bundle. */
  pseudonyms: string[];
}

export interface Bundle {
  format: typeof BUNDLE_FORMAT;
  created_at: string;
  program_version: string;
  /** What is in here, and of what is not, why. */
  index: SectionEntry[];
  sections: Partial<Record<SectionId, unknown>>;
  redactions: Redaction[];
}

export interface BundleReport {
  output: string;
  size_bytes: number;
  index: SectionEntry[];
  redactions: Redaction[];
}

/** What would be collected. */
export interface BundlePreview {
  sections: { section: SectionId; title: string; collected: boolean; reason?: string }[];
}

export interface BundleFinding {
  severity: 'error' | 'warning' | 'info';
  section: SectionId | 'index';
  message: string;
}

export interface BundleInspection {
  file: string;
  created_at: string;
  program_version: string;
  index: SectionEntry[];
  findings: BundleFinding[];
  /** Values that were removed. */
  redacted: number;
}

/** One value that differs; a side where it is absent has none. */
export interface BundleChange {
  path: string;
  before?: unknown;
  after?: unknown;
}

export interface BundleDifference {
  before: string;
  after: string;
  changes: BundleChange[];
}
