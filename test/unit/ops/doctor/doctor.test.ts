// How a doctor works, whatever it looks at: order, deadlines, selection, interruption, nothing left; and how it is shown.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { runChecks } from '../../../../src/cli/check-progress.ts';
import { doctorText, findingsText } from '../../../../src/cli/doctor-view.ts';
import { configFailure } from '../../../../src/config/setting.ts';
import { packageRoot } from '../../../../src/host/package-root.ts';
import type { DoctorDeps } from '../../../../src/ops/doctor/check.ts';
import { planDoctor } from '../../../../src/ops/doctor/doctor.ts';
import { doctorSarif } from '../../../../src/ops/doctor/sarif.ts';
import { sarifMaker } from '../../../../src/ops/sarif.ts';
import { providerSet } from '../../../../src/providers/registry.ts';
import { DoctorReport } from '../../../../src/schema/doctor.ts';
import { FAKE_START, fakeClock } from '../../../support/fakes/ports.ts';
import { trialProvider } from '../../../support/fakes/trial-provider.ts';
import { DATABASE, type Machine, machine } from '../../../support/hosts/machine.ts';

const everything = { only: [], skip: [], probe: false };

async function report(deps: DoctorDeps, selection: Parameters<typeof planDoctor>[1] = everything) {
  const plan = planDoctor(deps, selection);
  await runChecks(plan.groups, false);
  return plan.finish();
}
const idsOf = ({ groups }: DoctorReport) => groups.flatMap(({ checks }) => checks.map(({ id }) => id));
const checkOf = ({ groups }: DoctorReport, id: string) =>
  groups.flatMap(({ checks }) => checks).find((check) => check.id === id);

it('the report fits its schema and has the verdict of its worst check', async () => {
  const check = new Ajv({ strict: false }).compile(DoctorReport);
  const sound = await report(machine());
  expect(check(sound) || check.errors).toBe(true);
  expect(sound).toMatchObject({ verdict: 'pass', production: false });
  const full = await report(machine({ host: { fileSystem: { freeBytes: 1 } }, nodeVersion: '18.0.0' }));
  expect(full.verdict).toBe('fail');
  expect(full.groups.map(({ id, verdict }) => [id, verdict]).slice(0, 3)).toEqual([
    ['configuration', 'pass'],
    ['machine', 'fail'],
    ['database', 'fail'],
  ]);
});

it('runs only the selected checks', async () => {
  const only = await report(machine(), { ...everything, only: ['server', 'database.space'] });
  expect(idsOf(only)).toEqual(['database.space', 'server.port']);
  const skip = await report(machine(), { ...everything, skip: ['machine', 'database.sync'] });
  expect(idsOf(skip)).not.toContain('machine.node');
  expect(idsOf(skip)).not.toContain('database.sync');
  expect(idsOf(skip)).toContain('database.space');
  expect(() => planDoctor(machine(), { ...everything, only: ['disk'] })).toThrow('Unknown check.');
});

it('reports every configuration problem, and then runs no other check', async () => {
  const deps = machine();
  const failure = configFailure([
    { message: 'svc.yaml:1:1: one thing.' },
    { message: 'svc.yaml:2:1: another.' },
  ]);
  const found = await report({
    ...deps,
    load: () => {
      throw failure;
    },
  });
  expect(checkOf(found, 'configuration.loads')).toMatchObject({
    verdict: 'fail',
    message: 'svc.yaml:1:1: one thing. svc.yaml:2:1: another.',
  });
  const others = found.groups.flatMap(({ checks }) => checks).slice(1);
  expect(new Set(others.map(({ verdict }) => verdict))).toEqual(new Set(['skip']));
});

it('an invalid configuration fails also a selection without its check', async () => {
  const load = () => {
    throw configFailure([{ message: 'svc.yaml:1:1: one thing.' }]);
  };
  for (const selection of [{ only: ['machine'] }, { skip: ['configuration'] }]) {
    const found = await report({ ...machine(), load }, { ...everything, ...selection });
    expect(found.verdict).toBe('fail');
    expect(found.groups[0]).toMatchObject({ id: 'configuration', verdict: 'fail' });
    expect(checkOf(found, 'configuration.loads')?.message).toBe('svc.yaml:1:1: one thing.');
  }
});

it('failures are printed first and last, and skipped checks are one line for each group', async () => {
  const found = await report(machine({ host: { fileSystem: { freeBytes: 1 } }, nodeVersion: '18.0.0' }));
  const text = doctorText(found, {});
  const wrong = findingsText(found, {});
  expect(wrong).toMatch(/^fail {2}machine\.node {2}.*\n {6}fix: /);
  expect(text.startsWith(wrong)).toBe(true);
  expect(text.slice(0, text.lastIndexOf('\n')).trimEnd().endsWith(wrong)).toBe(true);
  for (const { title, checks } of found.groups) {
    const skipped = checks.filter(({ verdict }) => verdict === 'skip');
    const [first] = skipped;
    if (!first) continue;
    expect(text.split('\n').filter((line) => line.includes(first.message)).length).toBeLessThanOrEqual(
      found.groups.length,
    );
    if (skipped.length === checks.length)
      expect(text).toMatch(new RegExp(`${title}: ${first.message.slice(0, 10)}`));
  }
  expect(findingsText(await report(machine()), {})).toBe('');
});

it('SARIF of a report is valid, links to the document, and records an unreadable configuration', async () => {
  const schema = JSON.parse(readFileSync(join(packageRoot(), 'fixtures/sarif-2.1.0.schema.json'), 'utf8'));
  const { $schema: _, id: __, ...rest } = schema;
  const check = new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(rest);
  const wrong = await report(machine({ nodeVersion: '18.0.0' }), { ...everything, probe: true });
  const log = JSON.parse(JSON.stringify(doctorSarif(wrong, sarifMaker(packageRoot(), '0.1.0'))));
  expect(check(log) || check.errors).toBe(true);
  const [{ tool, results, invocations }] = log.runs;
  expect(results).toContainEqual(expect.objectContaining({ ruleId: 'machine.node', level: 'error' }));
  expect(invocations[0].executionSuccessful).toBe(true);
  for (const { helpUri } of tool.driver.rules) {
    const url = new URL(helpUri);
    expect(readFileSync(url, 'utf8')).toContain(`<a id="${url.hash.slice(1)}"></a>`);
  }
  const load = () => {
    throw configFailure([{ message: 'svc.yaml:1:1: one thing.' }]);
  };
  const unread = doctorSarif(await report({ ...machine(), load }), sarifMaker('/x', '0.1.0'));
  expect(unread).toMatchObject({ runs: [{ invocations: [{ executionSuccessful: false }] }] });
});

it('a check that never ends fails at its deadline', async () => {
  const clock = fakeClock();
  const plan = planDoctor(machine({ clock, host: { syncs: 'never' } }), {
    ...everything,
    only: ['database.sync'],
  });
  const result = plan.groups[0]?.checks[0]?.run();
  await clock.advance(31_000);
  expect(await result).toMatchObject({ verdict: 'fail', message: 'The check timed out after 30 s.' });
  expect((await plan.finish()).groups[0]?.checks[0]?.ms).toBeGreaterThanOrEqual(30_000);
});

it('an interruption ends the running check and skips the rest', async () => {
  const end = new AbortController();
  const deps = machine({ signal: end.signal, host: { syncs: 'never' } });
  const plan = planDoctor(deps, { ...everything, only: ['database'] });
  const run = runChecks(plan.groups, false);
  await new Promise(setImmediate);
  end.abort();
  await run;
  const found = await plan.finish();
  expect(checkOf(found, 'database.sync')).toMatchObject({ verdict: 'skip', message: 'Interrupted.' });
  expect(checkOf(found, 'database.schema')).toMatchObject({ verdict: 'skip', message: 'Interrupted.' });
});

function withTrial(runtimes: string[], wrong: Machine = {}) {
  const destroyed: string[] = [];
  const instances: string[] = [];
  const saving: boolean[] = [];
  const deps: DoctorDeps = {
    ...machine(wrong),
    openProviders: async ({ providers }, { id }) => {
      instances.push(id);
      saving.push(providers.microvm.snapshots);
      const there = runtimes.map((name) => ({
        runtime_id: name,
        id: name,
        epoch: 1,
        state: 'running' as const,
        created_at: name === 'sb-young' ? new Date(FAKE_START).toISOString() : '2025-01-01T00:00:00.000Z',
      }));
      const shared = {
        report: { healthy: true, findings: [] },
        runtimes: there,
        destroyed,
        fault: wrong.fault?.step,
      };
      return providerSet([
        trialProvider({ kind: 'container', ...shared }),
        trialProvider({ kind: 'userspace', ...shared }),
      ]);
    },
  };
  return { deps, destroyed, instances, saving };
}

it('a probe ends leftovers of a killed doctor, and its own sandbox, also when interrupted', async () => {
  const left = withTrial(['sb-left', 'sb-young']);
  await report(left.deps, { ...everything, probe: true, only: ['probe_userspace.start'] });
  expect(left.destroyed).toEqual(['sb-left', expect.stringMatching(/^sb-/)]);
  const failing = withTrial([], { fault: { kind: 'userspace', step: 'exec' } });
  await report(failing.deps, { ...everything, probe: true, only: ['probe_userspace'] });
  expect(failing.destroyed).toHaveLength(1);
});

it('uses the same foreign instance id in each run', async () => {
  const [first, second] = [withTrial([]), withTrial([])];
  for (const { deps } of [first, second]) await report(deps, { ...everything, only: ['container.engine'] });
  expect(first.instances).toEqual(second.instances);
  const { instance } = (await first.deps.knownRuntimes(first.deps.load().config.database)) ?? {};
  expect(first.instances).not.toContain(instance?.id);
});

it('saves no snapshot of a virtual machine', async () => {
  const { deps, saving } = withTrial([]);
  await report(deps, { ...everything, only: ['container.engine'] });
  expect(saving).toEqual([false]);
});

it('a provider whose image serves no port passes', async () => {
  const found = await report(machine({ fault: { kind: 'userspace', step: 'serve' } }), {
    ...everything,
    probe: true,
  });
  expect(checkOf(found, 'probe_userspace.connect')?.verdict).toBe('skip');
});

it('recognizes the service on its port', async () => {
  const files = { [`${DATABASE}.lock.json`]: '{"pid":7,"address":"http://127.0.0.1:7423"}', '/proc/7': '' };
  const found = await report(machine({ host: { portFault: 'EADDRINUSE' }, files }));
  expect(checkOf(found, 'server.port')).toMatchObject({ verdict: 'pass' });
  expect(checkOf(found, 'database.lock')?.message).toBe(
    'Process 7 uses the database at http://127.0.0.1:7423.',
  );
});

it('an unused provider warns, the default provider fails, and production is strict', async () => {
  const wrong: Machine = { findings: { container: 'network' } };
  const verdict = async (more: Machine) =>
    checkOf(await report(machine({ ...wrong, ...more })), 'container.network')?.verdict;
  expect(await verdict({})).toBe('warn');
  expect(await verdict({ config: { providers: { default: 'container' } } })).toBe('fail');
  expect(await verdict({ production: true })).toBe('fail');
});

it('shows a tree with times and remedies', async () => {
  const found = await report(machine({ nodeVersion: '18.0.0' }), {
    ...everything,
    only: ['machine.node', 'server'],
  });
  const all = doctorText(found, {}).split('\n');
  const lines = all.slice(all.indexOf('') + 1);
  expect(lines[0]).toMatch(/^fail +\d+\.\d ms {2}Machine$/);
  expect(lines[1]).toMatch(/^ {2}fail +\d+\.\d ms {2}Node {2}Node 18\.0\.0 is too old\.$/);
  expect(lines[2]).toMatch(/^ +fix: Install Node/);
  expect(lines[1]?.indexOf('Node 18')).toBe(lines[2]?.indexOf('fix:'));
  expect(lines.at(-1)).toMatch(/^fail +\d+\.\d ms {2}2 checks: 1 pass, 0 warn, 1 fail, 0 skip$/);
});

it('runs every check once also with the tree of a terminal', async () => {
  const plan = planDoctor(machine({ nodeVersion: '18.0.0' }), everything);
  await runChecks(plan.groups, true);
  const found = await plan.finish();
  expect(idsOf(found)).toEqual([...new Set(idsOf(found))]);
  expect(idsOf(found)).toEqual(idsOf(await report(machine())));
});
