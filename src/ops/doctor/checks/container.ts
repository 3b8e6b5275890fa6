// The container provider: what its own probe finds, and what is known against the programs under it.
import { ADVISORIES_DATE, advisoriesFor } from '../advisories.ts';
import { type CheckGroup, pass, skip } from '../check.ts';
import type { Patient } from '../patient.ts';
import { failIfNeeded, findingCheck, isDisabled } from './provider.ts';

const VERSION_MS = 3000;

export const CONTAINER: CheckGroup = {
  id: 'container',
  title: 'Provider container',
  unless: isDisabled('container'),
  checks: [
    findingCheck({
      kind: 'container',
      name: 'engine',
      title: 'Engine',
      fix: 'Where no engine is wanted, set providers.container.enabled to false.',
    }),
    findingCheck({
      kind: 'container',
      name: 'runtime',
      title: 'Runtime',
      fix: 'Register it with the engine, or set providers.container.runtime.',
    }),
    findingCheck({
      kind: 'container',
      name: 'network',
      title: 'Network',
      fix: 'Create it on the engine, or set providers.container.network_mode.',
    }),
    findingCheck({ kind: 'container', name: 'agent', title: 'Guest agent', fix: 'Install svc again.' }),
    findingCheck({
      kind: 'container',
      name: 'limits',
      title: 'Limits',
      fix: 'Boot the host of the engine with the control groups that are missing.',
      isLimit: true,
    }),
    { name: 'advisories', title: 'Known holes', look: advisories },
  ],
};

/** An engine elsewhere has programs that cannot be asked from here. */
async function advisories(patient: Patient, signal: AbortSignal) {
  const { host, config } = patient;
  if (config.providers.container.host !== '') return skip('The engine is on another machine.');
  const program = await host.which('runc');
  if (program === undefined) return skip('There is no runc to look at.');
  const { stdout } = await host.run(program, ['--version'], { timeoutMs: VERSION_MS, signal });
  const [, version] = /version (\d+\.\d+\.\d+)/.exec(stdout) ?? [];
  if (version === undefined) return skip('runc does not tell its version.');
  const known = advisoriesFor('runc', version);
  if (known.length === 0) return pass(`Nothing was known against runc ${version} on ${ADVISORIES_DATE}.`);
  return failIfNeeded(patient, 'container', `runc ${version}: ${known.join(' ')}`, 'Update runc.');
}
