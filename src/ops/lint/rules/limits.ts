// Rules about limits: sandboxes, time, the queue, output.
import { parseDuration } from '../../../domain/duration.ts';
import { findingIf, rulesOf } from '../rule.ts';

const MEBIBYTE = 1024 * 1024;
const MOST_OUTPUT = 256 * MEBIBYTE;
const MOST_WAITING = 10_000;
const HOUR_MS = 3_600_000;
const LONGEST_WAIT_MS = HOUR_MS / 2;

const ms = (text: string) => parseDuration(text, '');

/** A VM has four shares of room: one stays for others (agent/src/init/init-pool.c). */
const MOST_SHARES = 3;

export const LIMIT_RULES = rulesOf('limits', [
  {
    id: 'SVC501',
    key: 'defaults.max_sandboxes',
    title: 'The number of sandboxes is not limited.',
    why: 'Spawns succeed until the machine runs out of memory. The kernel then kills arbitrary processes.',
    remedy: 'Set defaults.max_sandboxes to the capacity of the machine.',
    example: 'defaults:\n  max_sandboxes: 100\n  max_sandboxes_per_owner: 10\n',
    level: 'off',
    production: 'error',
    check: ({ config: { defaults, pool } }) => findingIf(defaults.max_sandboxes === 0 && !pool.enabled),
  },
  {
    id: 'SVC502',
    key: 'defaults.max_sandboxes_per_owner',
    title: 'The number of sandboxes of one owner is not limited.',
    why: 'One owner, or a loop in its program, can use the entire capacity and block all other owners.',
    remedy: 'Set defaults.max_sandboxes_per_owner. Use quotas to give more to single owners.',
    example: 'defaults:\n  max_sandboxes: 100\n  max_sandboxes_per_owner: 10\n',
    level: 'off',
    production: 'error',
    check: ({ config: { defaults } }) => findingIf(defaults.max_sandboxes_per_owner === 0),
  },
  {
    id: 'SVC503',
    key: 'defaults.max_sandboxes_per_owner',
    title: 'One owner can use the entire capacity.',
    why: 'The limit per owner is as high as the limit of the service, so it reserves nothing for other owners.',
    remedy: 'Set defaults.max_sandboxes_per_owner well below defaults.max_sandboxes.',
    example: 'defaults:\n  max_sandboxes: 100\n  max_sandboxes_per_owner: 10\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { defaults } }) =>
      findingIf(defaults.max_sandboxes > 0 && defaults.max_sandboxes_per_owner >= defaults.max_sandboxes),
  },
  {
    id: 'SVC504',
    key: 'defaults.max_ttl',
    title: 'The lifetime of a sandbox is not limited.',
    why: 'Forgotten sandboxes never end and gradually fill the machine.',
    remedy: 'Set defaults.max_ttl to the longest lifetime that callers need.',
    example: 'defaults:\n  ttl: 30m\n  max_ttl: 24h\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { defaults } }) => findingIf(ms(defaults.max_ttl) === 0),
  },
  {
    id: 'SVC505',
    key: 'defaults.max_exec_timeout',
    title: 'A command can run for more than a day.',
    why: 'Such a call holds its connection, its output and a slot for concurrent calls. Start long-running commands in the background instead; they end with their sandbox.',
    remedy: 'Set defaults.max_exec_timeout to 24h or less.',
    example: 'defaults:\n  max_exec_timeout: 10m\n',
    level: 'off',
    production: 'error',
    check: ({ config: { defaults } }) => findingIf(ms(defaults.max_exec_timeout) > 24 * HOUR_MS),
  },
  {
    id: 'SVC506',
    key: 'defaults.max_exec_output',
    title: 'The output of a command can fill the memory.',
    why: 'An exec without stream buffers up to that many bytes of each output until it responds, and many execs can run at the same time.',
    remedy: 'Set defaults.max_exec_output to 256 MiB (268435456) or less, and stream larger output.',
    example: 'defaults:\n  max_exec_output: 10485760\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { defaults } }) => findingIf(defaults.max_exec_output > MOST_OUTPUT),
  },
  {
    id: 'SVC507',
    key: 'defaults.max_spawn_queue',
    title: 'The spawn queue is too long, or its timeout is.',
    why: 'Each waiting spawn holds a connection. A queue that is too long only delays the refusal.',
    remedy: `Set defaults.max_spawn_queue to at most ${MOST_WAITING} and defaults.spawn_queue_timeout to at most 30m.`,
    example: 'defaults:\n  spawn_overflow: queue\n  spawn_queue_timeout: 30s\n  max_spawn_queue: 100\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { defaults } }) =>
      defaults.spawn_overflow !== 'queue'
        ? []
        : [
            ...findingIf(defaults.max_spawn_queue > MOST_WAITING),
            ...findingIf(ms(defaults.spawn_queue_timeout) > LONGEST_WAIT_MS, {
              key: 'defaults.spawn_queue_timeout',
              message: 'Spawns can wait for more than half an hour.',
            }),
          ],
  },
  {
    id: 'SVC508',
    key: 'defaults.max_sandboxes_per_owner',
    title: 'One user of the pool can use the capacity of an entire VM.',
    why: 'In a pool, each sandbox can use a quarter of the workspaces of a VM and 256 processes. A user with four sandboxes can use the workspaces of all users.',
    remedy:
      'Set defaults.max_sandboxes_per_owner to 1, 2 or 3, and use quotas to give more to trusted owners.',
    example:
      'auth:\n  quota_writes: admin\npool:\n  enabled: true\ndefaults:\n  max_sandboxes_per_owner: 2\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { pool, defaults } }) => {
      const most = defaults.max_sandboxes_per_owner;
      return findingIf(pool.enabled && (most === 0 || most > MOST_SHARES));
    },
  },
  {
    id: 'SVC509',
    key: 'server.buffer_limit',
    title: 'The memory limit server.buffer_limit is smaller than the output of one command.',
    why: 'An exec without stream buffers its two outputs until it responds, each of up to defaults.max_exec_output bytes. If they do not fit, the service refuses the command or truncates its output earlier.',
    remedy:
      'Set server.buffer_limit to at least twice defaults.max_exec_output or to 0 (automatic), or lower defaults.max_exec_output.',
    example: 'server:\n  buffer_limit: 67108864\ndefaults:\n  max_exec_output: 10485760\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { server, defaults } }) =>
      findingIf(server.buffer_limit > 0 && server.buffer_limit < 2 * defaults.max_exec_output),
  },
]);
