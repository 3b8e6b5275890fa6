// P32 of the speed table: redaction of log lines, of structures, and of the worst that a hostile text can be.
import { redactor } from '../src/redact/engine.ts';
import type { Pair } from './row.ts';

const MEGABYTE = 1_000_000;
/** As many as a configuration with workers has. */
const SECRETS = Array.from({ length: 8 }, (_, n) => `a-secret-value-${n}-of-the-configuration-9x7`);
const LINE =
  '{"level":"info","time":"2026-01-02T03:04:05.678Z","request_id":"4f7c2c1e-8a55-4d4b-9df2-0b6c8f6b7a11","path":"/api/v1/sandboxes/sb-abcdefghijkl/exec","status":200,"duration_ms":12.5,"message":"request"}\n';
const FIELDS = JSON.parse(LINE) as object;

/** Beginnings of rules, over and over: each makes a pattern look further in vain. */
const HOSTILE = [
  '-----BEGIN PRIVATE KEY-----',
  'eyJ',
  'Basic ',
  'ghp_',
  'sk-',
  'password ',
  'token=',
  '://a',
  'authorization:',
  'token="\\',
];

export function redactionPairs(): Pair[] {
  const { text, value } = redactor({ secrets: SECRETS });
  const benign = sized(LINE);
  const hostile = HOSTILE.map(sized);
  const structures = Array.from({ length: 2000 }, () => ({ ...FIELDS }));
  return [
    {
      id: 'P32-text',
      name: 'redaction of 10 MB of log lines',
      target: 100,
      pairs: 20,
      ours: async () => timed(() => repeat(10, () => text(benign))),
    },
    {
      id: 'P32-structures',
      name: 'redaction of 2,000 log records, against their JSON',
      target: 1 / 0.15,
      pairs: 50,
      ours: async () => timed(() => structures.map((each) => value(each))),
      baseline: async () => timed(() => structures.map((each) => JSON.stringify(each))),
    },
    {
      id: 'P32-hostile',
      name: `redaction of the worst of ${HOSTILE.length} hostile texts of 1 MB, against 1 MB of log lines`,
      target: 20,
      pairs: 20,
      ours: async () => Math.max(...hostile.map((each) => timed(() => text(each)))),
      baseline: async () => timed(() => text(benign)),
    },
  ];
}

const sized = (text: string) => text.repeat(Math.ceil(MEGABYTE / text.length)).slice(0, MEGABYTE);

function repeat(times: number, deed: () => unknown): void {
  for (let n = 0; n < times; n += 1) deed();
}

function timed(deed: () => unknown): number {
  const started = performance.now();
  deed();
  return performance.now() - started;
}
