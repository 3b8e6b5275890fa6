// The userspace provider: whether the kernel lets it make namespaces, what its own probe finds, and the interpreters.

import { type CheckContext, type Finding, pass, skip } from '../check.ts';
import { failIfNeeded, findingsOf, PROBE_DEADLINE_MS, providerGroup } from './provider.ts';
import { vulnerabilityCheck } from './vulnerabilities.ts';

const KIND = 'userspace';
const SYSCTL_BYTES = 64;

/** Each keeps namespaces from this user when it has that value. */
const SYSCTLS: readonly { name: string; refuses: string; rootToo?: true }[] = [
  { name: 'user/max_user_namespaces', refuses: '0', rootToo: true },
  { name: 'kernel/unprivileged_userns_clone', refuses: '0' },
  { name: 'kernel/apparmor_restrict_unprivileged_userns', refuses: '1' },
];

const finding = findingsOf(KIND);
const userNetwork = finding(
  'network',
  'User-mode network',
  'Install slirp4netns, set providers.userspace.name_servers, or set providers.userspace.network to none.',
  { isLimit: true },
);

export const USERSPACE = providerGroup(KIND, [
  { name: 'namespaces', title: 'Namespaces', look: namespaces },
  finding(
    'runner',
    'Runner',
    'Install bubblewrap or util-linux (for unshare), or set providers.userspace.enabled to false.',
  ),
  finding(
    'limits',
    'Limits',
    'Run the service as root, or delegate a control group with Delegate=yes in the systemd unit.',
    { isLimit: true },
  ),
  { name: 'network', title: 'User-mode network', deadlineMs: PROBE_DEADLINE_MS, look: network },
  vulnerabilityCheck({
    kind: KIND,
    programs: ['bwrap'],
    also: ({ config }) =>
      config.providers.userspace.network === 'user'
        ? [{ name: 'slirp4netns' }, { name: 'libslirp', by: 'slirp4netns' }]
        : [],
  }),
  { name: 'languages', title: 'Interpreters', deadlineMs: PROBE_DEADLINE_MS, look: languages },
]);

async function namespaces(context: CheckContext): Promise<Finding> {
  const { host, config } = context;
  if (config.providers.userspace.runner === 'proot') return skip('proot does not use namespaces.');
  for (const { name, refuses, rootToo } of SYSCTLS) {
    if (host.uid === 0 && !rootToo) continue;
    const value = (await host.read(`/proc/sys/${name}`, SYSCTL_BYTES))?.toString('utf8').trim();
    const sysctl = name.replaceAll('/', '.');
    if (value === refuses)
      return failIfNeeded(
        context,
        KIND,
        `${sysctl} is ${value}, so this user cannot create namespaces.`,
        `Change it with sysctl -w ${sysctl}=…, or run the service as root.`,
      );
  }
  return pass('This user can create namespaces.');
}

async function network(context: CheckContext, signal: AbortSignal): Promise<Finding> {
  if (context.config.providers.userspace.network !== 'user')
    return skip('providers.userspace.network is not user.');
  return userNetwork.look(context, signal);
}

async function languages(context: CheckContext, signal: AbortSignal): Promise<Finding> {
  const wanted = context.config.providers.userspace.languages;
  if (wanted.length === 0) return skip('providers.userspace.languages is empty.');
  const { findings } = await context.probe(KIND, signal);
  const missing = wanted.filter((name) => !findings.some((each) => each.name === name && each.ok));
  if (missing.length === 0) return pass(`${wanted.join(', ')} are available.`);
  return failIfNeeded(
    context,
    KIND,
    `Sandboxes do not have ${missing.join(', ')}.`,
    'Install them in the root file system of sandboxes.',
  );
}
