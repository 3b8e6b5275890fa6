// The machine: Node, time, limits, memory, cgroups.
import { parseHierarchies } from '../../../providers/local/cgroup-host.ts';
import { isOlder } from '../advisories.ts';
import { type CheckContext, type CheckGroup, fail, failInProduction, pass, skip, warn } from '../check.ts';

const OLDEST_NODE = '20.19.0';
/** No release of this program is older. */
const FIRST_RELEASE = Date.UTC(2026, 0, 1);
const PROC_BYTES = 256 * 1024;
const TIMEDATECTL_MS = 3000;

/** Files that the service needs open for itself, and for each sandbox in use: session, runner, streams. */
const OWN_FILES = 1024;
const FILES_PER_SANDBOX = 8;
const OWN_PROCESSES = 128;
const ENOUGH_SANDBOXES = 50;

const expectedSandboxes = ({ config }: CheckContext) => config.defaults.max_sandboxes || ENOUGH_SANDBOXES;

async function text(context: CheckContext, path: string): Promise<string | undefined> {
  return (await context.host.read(path, PROC_BYTES))?.toString('utf8');
}

/** Node raises the soft limit to the hard one, so the hard one counts; undefined where the system reports none. */
async function hardLimit(context: CheckContext, name: string): Promise<number | undefined> {
  const limits = await text(context, '/proc/self/limits');
  const [, hard] = new RegExp(`^${name} +\\S+ +(\\S+)`, 'm').exec(limits ?? '') ?? [];
  if (hard === undefined) return undefined;
  return hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard);
}

function limitCheck(limit: {
  name: string;
  title: string;
  proc: string;
  unit: string;
  needed(context: CheckContext): number;
}) {
  return {
    name: limit.name,
    title: limit.title,
    look: async (context: CheckContext) => {
      const most = await hardLimit(context, limit.proc);
      if (most === undefined) return skip('The kernel does not report the limit.');
      const needed = limit.needed(context);
      if (most >= needed) return pass(`The limit of ${most} ${limit.unit} is enough.`);
      const words = `The limit is ${most} ${limit.unit}; ${expectedSandboxes(context)} sandboxes need ${needed}.`;
      return failInProduction(
        context,
        words,
        `Raise the limit to ${needed} or more with ulimit, or with Limit… in the systemd unit.`,
      );
    },
  };
}

export const MACHINE: CheckGroup = {
  id: 'machine',
  title: 'Machine',
  checks: [
    {
      name: 'node',
      title: 'Node',
      look: async ({ nodeVersion }) =>
        isOlder(nodeVersion, OLDEST_NODE)
          ? fail(`Node ${nodeVersion} is too old.`, `Install Node ${OLDEST_NODE} or newer.`)
          : pass(`Node ${nodeVersion}.`),
    },
    {
      name: 'clock',
      title: 'Clock',
      look: async (context, signal) => {
        const { clock, host } = context;
        if (clock.now() < FIRST_RELEASE)
          return fail(
            'The clock is years behind the correct time.',
            'Set the clock, and synchronize it with a service such as chrony.',
          );
        const program = await host.which('timedatectl');
        if (program === undefined)
          return pass('The time is plausible. Whether the clock is synchronized is unknown.');
        const { code, stdout } = await host.run(program, ['show', '--property=NTPSynchronized', '--value'], {
          timeoutMs: TIMEDATECTL_MS,
          signal,
        });
        if (code !== 0) return pass('The time is plausible. Whether the clock is synchronized is unknown.');
        if (stdout.trim() === 'yes') return pass('The clock is synchronized over the network.');
        return warn(
          'The clock is not synchronized.',
          'Run timedatectl set-ntp true. Signed links and expiries depend on the clock.',
        );
      },
    },
    limitCheck({
      name: 'files',
      title: 'Open files',
      proc: 'Max open files',
      unit: 'open files',
      needed: (context) => OWN_FILES + FILES_PER_SANDBOX * expectedSandboxes(context),
    }),
    limitCheck({
      name: 'processes',
      title: 'Processes',
      proc: 'Max processes',
      unit: 'processes',
      needed: (context) => OWN_PROCESSES + 2 * expectedSandboxes(context),
    }),
    {
      name: 'memory',
      title: 'Memory',
      look: async ({ host, config: { defaults, pool } }) => {
        const [count, each] = pool.enabled
          ? [pool.max_vms, pool.memory_mb]
          : [defaults.max_sandboxes, defaults.memory_mb];
        if (count === 0)
          return pass(
            `The machine has ${host.memoryMb} MB. The number of sandboxes is not limited, so the need is unknown.`,
          );
        const words = `${count} sandboxes of ${each} MB need up to ${count * each} MB; the machine has ${host.memoryMb} MB.`;
        if (count * each <= host.memoryMb) return pass(words);
        return warn(
          words,
          'Lower defaults.max_sandboxes or defaults.memory_mb, unless sandboxes use far less than their limit.',
        );
      },
    },
    {
      name: 'cgroups',
      title: 'Control groups',
      look: async (context) => {
        const [mounts, own] = await Promise.all([
          text(context, '/proc/self/mountinfo'),
          text(context, '/proc/self/cgroup'),
        ]);
        const hierarchies = parseHierarchies(mounts ?? '', own ?? '');
        if (hierarchies.length === 0)
          return failInProduction(
            context,
            'No control groups are mounted, so sandboxes have no resource limits.',
            'Boot with control groups mounted at /sys/fs/cgroup.',
          );
        const versions = [...new Set(hierarchies.map(({ version }) => `v${version}`))].sort().join(' and ');
        return pass(`Control groups ${versions}.`);
      },
    },
  ],
};
