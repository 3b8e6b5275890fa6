// Rules about how much can be taken: sandboxes, time, places in the queue, output.
import { parseDuration } from '../../../domain/duration.ts';
import { findingIf, type LintRule } from '../rule.ts';

const MEBIBYTE = 1024 * 1024;
const MOST_OUTPUT = 256 * MEBIBYTE;
const MOST_WAITING = 10_000;
const HOUR_MS = 3_600_000;
const LONGEST_WAIT_MS = HOUR_MS / 2;

const ms = (text: string) => parseDuration(text, '');

/** A VM has four shares of room: one stays for others (agent/src/init/init-pool.c). */
const MOST_SHARES = 3;

export const LIMIT_RULES: readonly LintRule[] = [
  {
    id: 'SVC501',
    topic: 'limits',
    key: 'defaults.max_sandboxes',
    title: 'The number of sandboxes has no cap.',
    why: 'Spawns go on until the machine has no memory left; what dies then is chosen by the kernel.',
    remedy: 'Set defaults.max_sandboxes to what the machine can hold.',
    example: 'defaults:\n  max_sandboxes: 100\n  max_sandboxes_per_owner: 10\n',
    level: 'off',
    production: 'error',
    check: ({ config: { defaults, pool } }) => findingIf(defaults.max_sandboxes === 0 && !pool.enabled),
  },
  {
    id: 'SVC502',
    topic: 'limits',
    key: 'defaults.max_sandboxes_per_owner',
    title: 'The sandboxes of one owner have no cap.',
    why: 'One owner, or a loop in its program, takes all places and shuts out everybody else.',
    remedy: 'Set defaults.max_sandboxes_per_owner; single owners can be given more by a quota.',
    example: 'defaults:\n  max_sandboxes: 100\n  max_sandboxes_per_owner: 10\n',
    level: 'off',
    production: 'error',
    check: ({ config: { defaults } }) => findingIf(defaults.max_sandboxes_per_owner === 0),
  },
  {
    id: 'SVC503',
    topic: 'limits',
    key: 'defaults.max_sandboxes_per_owner',
    title: 'One owner may take every place.',
    why: 'The cap of an owner is as high as that of the whole service, so it keeps nothing free for others.',
    remedy: 'Set defaults.max_sandboxes_per_owner well below defaults.max_sandboxes.',
    example: 'defaults:\n  max_sandboxes: 100\n  max_sandboxes_per_owner: 10\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { defaults } }) =>
      findingIf(defaults.max_sandboxes > 0 && defaults.max_sandboxes_per_owner >= defaults.max_sandboxes),
  },
  {
    id: 'SVC504',
    topic: 'limits',
    key: 'defaults.max_ttl',
    title: 'A sandbox may live for ever.',
    why: 'What nobody remembers is never ended: forgotten sandboxes fill the machine one by one.',
    remedy: 'Set defaults.max_ttl to the longest life that is needed.',
    example: 'defaults:\n  ttl: 30m\n  max_ttl: 24h\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { defaults } }) => findingIf(ms(defaults.max_ttl) === 0),
  },
  {
    id: 'SVC505',
    topic: 'limits',
    key: 'defaults.max_exec_timeout',
    title: 'A command may run for more than a day.',
    why: 'A call that lasts that long holds its connection, its output and a place among the calls in flight; what is meant to go on is started in the background and ends with its sandbox.',
    remedy: 'Set defaults.max_exec_timeout to 24h or less.',
    example: 'defaults:\n  max_exec_timeout: 10m\n',
    level: 'off',
    production: 'error',
    check: ({ config: { defaults } }) => findingIf(ms(defaults.max_exec_timeout) > 24 * HOUR_MS),
  },
  {
    id: 'SVC506',
    topic: 'limits',
    key: 'defaults.max_exec_output',
    title: 'A command may fill the memory with its output.',
    why: 'A plain exec keeps up to that many bytes of each output in memory until it is answered, and many may run at once.',
    remedy: 'Set defaults.max_exec_output to 256 MiB (268435456) or less, and stream what is longer.',
    example: 'defaults:\n  max_exec_output: 10485760\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { defaults } }) => findingIf(defaults.max_exec_output > MOST_OUTPUT),
  },
  {
    id: 'SVC507',
    topic: 'limits',
    key: 'defaults.max_spawn_queue',
    title: 'The queue of spawns is too long, or its wait.',
    why: 'Whoever waits holds a connection. A queue longer than what is served in time only delays the refusal.',
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
              message: 'Spawns may wait for more than half an hour.',
            }),
          ],
  },
  {
    id: 'SVC508',
    topic: 'limits',
    key: 'defaults.max_sandboxes_per_owner',
    title: 'One user of the pool may take the room of a whole VM.',
    why: 'In a pool a quarter of the workspaces and 256 processes are the share of a sandbox, not of its user: who has four has the workspaces of all.',
    remedy:
      'Set defaults.max_sandboxes_per_owner to 1, 2 or 3, and give more by quota to those who may have it.',
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
    topic: 'limits',
    key: 'server.buffer_limit',
    title: 'The memory for calls is smaller than the output of one command.',
    why: 'A plain exec keeps its two outputs in memory until it is answered, each of at most defaults.max_exec_output bytes. Where they do not fit, a command that may print so much is refused, or its output is cut sooner.',
    remedy:
      'Set server.buffer_limit to twice defaults.max_exec_output or more, or to 0, or lower defaults.max_exec_output.',
    example: 'server:\n  buffer_limit: 67108864\ndefaults:\n  max_exec_output: 10485760\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { server, defaults } }) =>
      findingIf(server.buffer_limit > 0 && server.buffer_limit < 2 * defaults.max_exec_output),
  },
];
