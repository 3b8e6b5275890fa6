// What a fake control plane says of egress.
import type { EgressLogLine, EgressStatus } from '../../../src/schema/egress.ts';

export const fakeEgress = (allow: string[]): EgressStatus => ({
  mode: 'proxy',
  layers: [{ name: 'spawn', default: 'deny', allow, deny: [] }],
  max_connections: 64,
  bytes_per_second: 0,
  max_bytes: 0,
  log: 'denied',
  is_open: true,
  counters: { allowed: 0, denied: 1, failed: 0, open: 0, sent_bytes: 0, received_bytes: 0 },
  warnings: [],
});

export const fakeDecision = (sandbox_id: string): EgressLogLine => ({
  at: '2026-01-01T00:00:00.000Z',
  sandbox_id,
  decision: 'denied',
  reason: 'not_allowed',
  layer: 'spawn',
  host: 'example.com',
  port: 443,
  how: 'connect',
  sent_bytes: 0,
  received_bytes: 0,
  duration_ms: 1,
});
