// What we ship for operators names only what exists: metric families, documents, event kinds.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REFUSALS } from '../../src/control/metrics/meter.ts';
import { Metrics } from '../../src/control/metrics/metrics.ts';
import { ERROR_CODES } from '../../src/schema/error.ts';
import { EVENT_TYPES, GAP_TYPE } from '../../src/schema/event.ts';
import { REMEDIATION } from '../../src/schema/remediation.ts';
import { promtool } from '../support/checks/promtool.ts';
import { itWith } from '../support/requires.ts';
import { packageRoot } from '../support/servers/server.ts';
import { temporaryFolder } from '../support/temporary.ts';

const read = (path: string) => readFileSync(join(packageRoot, path), 'utf8');
const RULES = 'deploy/prometheus/svc.rules.yml';
const DASHBOARD = 'deploy/grafana/svc.json';

/** Names of series that a scrape of svc can have. */
async function series(): Promise<Set<string>> {
  const metrics = new Metrics();
  metrics.watchProcess();
  const { text } = await metrics.text();
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type]) => ({ name, type }));
  const parts = types.flatMap(({ name, type }) =>
    type === 'histogram' || type === 'summary' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  return new Set(['up', ...parts]);
}

const WORDS = /(?<![\w"'$.=])([a-z_][a-z0-9_]*)\b(?!\s*\()/g;
const LANGUAGE = new Set(['by', 'and', 'or', 'unless', 'le', 'on', 'ignoring', 'without', 'group_left']);

/** The names in an expression that are not functions, labels or keywords. */
function namesIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b(?:by|on|without|ignoring)\s*\([^)]*\)/g, '');
  return [...bare.matchAll(WORDS)].map(([, name = '']) => name).filter((name) => !LANGUAGE.has(name));
}

describe('alert rules', () => {
  itWith(['promtool'], 'are valid, and fire when they should', () => {
    expect(promtool(['check', 'rules', join(packageRoot, RULES)])).toMatchObject({ code: 0 });
    const tests = join(packageRoot, 'deploy/prometheus/svc.rules.test.yml');
    expect(promtool(['test', 'rules', tests])).toMatchObject({ code: 0 });
  });

  it('each have a test, and name only exposed metrics and existing documents', async () => {
    const known = await series();
    const text = read(RULES);
    const alerts = [...text.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    const expressions = [...text.matchAll(/expr: (?:\|\n((?: {10}.*\n)+)|(.*))/g)].map(
      ([, block, line]) => block ?? line ?? '',
    );
    expect(expressions).toHaveLength(alerts.length);
    for (const expression of expressions)
      for (const name of namesIn(expression)) expect(known).toContain(name);
    for (const alert of alerts)
      expect(read('deploy/prometheus/svc.rules.test.yml')).toContain(`alertname: ${alert}`);
    for (const [, place = ''] of text.matchAll(/Read (docs\/\S+?)\."/g)) expect(isThere(place)).toBe(true);
  });
});

describe('the dashboard', () => {
  it('shows only exposed metrics', async () => {
    const known = await series();
    const { panels } = JSON.parse(read(DASHBOARD)) as {
      panels: { title: string; targets: { expr: string }[] }[];
    };
    expect(panels.length).toBeGreaterThan(8);
    for (const { targets } of panels)
      for (const { expr } of targets) {
        const names = namesIn(expr);
        expect(names.length).toBeGreaterThan(0);
        for (const name of names) expect(known).toContain(name);
      }
  });

  itWith(['promtool'], 'asks only valid queries', () => {
    const { panels } = JSON.parse(read(DASHBOARD)) as { panels: { targets: { expr: string }[] }[] };
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const rules = expressions.map((expr, n) => ({
      record: `panel:${n}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    const file = join(temporaryFolder(), 'rules.yml');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
    expect(promtool(['check', 'rules', file])).toMatchObject({ code: 0 });
  });
});

it('the documents that diagnostics name exist', () => {
  for (const place of Object.values(REMEDIATION)) expect([place, isThere(place)]).toEqual([place, true]);
});

it('docs/remediation.md has a row for every error, each refusal of a spawn, and no topic that nothing names', () => {
  const text = read('docs/remediation.md');
  const [table = ''] = text.split(/^## /m, 1);
  const told = [...table.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code);
  expect(told).toEqual(expect.arrayContaining([...ERROR_CODES]));
  for (const [, anchor] of text.matchAll(/\]\(#([a-z_]+)\)/g))
    expect([anchor, isThere(`docs/remediation.md#${anchor}`)]).toEqual([anchor, true]);
  for (const reason of REFUSALS) expect(text).toContain(`\`${reason}\``);
  const topics = [...text.matchAll(/^## (\w+)$/gm)].map(([, topic]) => topic);
  expect(Object.keys(REMEDIATION)).toEqual(expect.arrayContaining(topics));
});

it('docs/events.md describes every event type and no other', () => {
  const table = read('docs/events.md').split('## Types')[1] ?? '';
  const told = [...table.matchAll(/^\| `([a-z._]+)`/gm)].map(([, name]) => name);
  expect(told.sort()).toEqual([...EVENT_TYPES, GAP_TYPE].sort());
});

it('notices names that do not exist', async () => {
  const known = await series();
  const strange = (expression: string) => namesIn(expression).filter((name) => !known.has(name));
  expect(strange('sum by (a) (rate(svc_nothing_total{b="svc_x"}[5m])) / svc_sandboxes > 0.5')).toEqual([
    'svc_nothing_total',
  ]);
  expect(
    strange('histogram_quantile(0.5, sum by (le) (rate(svc_exec_duration_seconds_bucket[5m])))'),
  ).toEqual([]);
});

function isThere(place: string): boolean {
  const [path = '', anchor] = place.split('#');
  if (!existsSync(join(packageRoot, path))) return false;
  return anchor === undefined || new RegExp(`^## ${anchor}$`, 'm').test(read(path));
}
