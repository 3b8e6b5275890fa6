// What is proved, kind by kind: what one trial is, what must never be found in it, and the command that tries. The table that
// proof/results.json and docs/reliability.md are made by.

export interface Kind {
  title: string;
  /** Two or three sentences for the reader of the page: the trial and how it is judged. */
  about: string;
  /** Makes the figures again. */
  command: string;
  /** What one trial is, in the plural. */
  trials: string;
  /** Counts that must be 0, with what they are called. */
  faults: Readonly<Record<string, string>>;
  /** Counts that say how much was done, and measures. */
  facts: Readonly<Record<string, string>>;
}

/** The counts of a trial whose end is compared with the kernel, the engine and the database. */
const AUDITED = {
  rows_lost: 'rows lost',
  runtimes_leaked: 'runtimes leaked',
  double_spawns: 'double spawns',
  over_admissions: 'over-admissions',
  unsettled: 'other failures',
};

export const KINDS = {
  points: {
    title: 'Faults at every step',
    about:
      'A real server with a real provider is killed, frozen, delayed or made to fail right before or after a step that changes state, under load. Then a server starts with the same database, and an auditor reads processes, mounts, sockets, cgroups, folders, the engine and the database, but never the API.',
    command: 'npm run proof -- --only points',
    trials: 'faults injected',
    faults: AUDITED,
    facts: { survived: 'survived', reached: 'steps reached', steps: 'of' },
  },
  simulation: {
    title: 'Simulation',
    about:
      'The real control plane with a simulated provider, clock and workers. A seed decides requests, timeouts, faults, crashes and restarts. Every invariant is checked after each step.',
    command: 'npm run proof -- --only simulation',
    trials: 'seeds',
    faults: { violations: 'seeds that broke an invariant' },
    facts: { steps: 'steps' },
  },
  authorization: {
    title: 'Authorization',
    about:
      'Every route is called with every credential under every setting, and each answer is compared with a table of expected ones. The separation of owners is checked in the same way.',
    command: 'npm run proof -- --only authorization',
    trials: 'cells',
    faults: { wrong: 'wrong cells' },
    facts: {},
  },
  secrets: {
    title: 'Secrets',
    about:
      'Secrets are planted wherever one can be, and everything that others may read is searched for them: in plain text, in base64 and URL-encoded.',
    command: 'npm run proof -- --only secrets',
    trials: 'canaries planted',
    faults: { found: 'canaries found' },
    facts: { outputs: 'outputs searched', bytes: 'bytes searched' },
  },
  environment: {
    title: 'Faults of the environment',
    about:
      'Engines, disks, descriptors, clocks, networks, clients and workers fail beneath a real server. Each trial states what must hold, and the same auditor checks it.',
    command: 'npm run proof -- --only environment',
    trials: 'faults injected',
    faults: AUDITED,
    facts: { survived: 'survived' },
  },
  sessions: {
    title: 'Faults in the middle of work on workers',
    about:
      'A real server and three real workers, each in a network namespace of its own. In a sandbox on each worker, clients stream output, upload a file, use a terminal and a preview, run commands, and spawn from a template with setup. Then a worker is killed, frozen or restarted, its network is cut, a firewall drops its open connections, or the server is killed. Calls must end soon, confirmed files and kept output must be complete, no command may run twice, the sandbox must answer again, and rows, leases, journals and processes must agree.',
    command: 'npm run proof -- --only sessions',
    trials: 'faults injected',
    faults: {
      late: 'calls or sandboxes that hung',
      untrue: 'lost, doubled or wrong data',
      unsettled: 'leaked or lost runtimes',
    },
    facts: { survived: 'survived', calls: 'calls in progress' },
  },
  replicas: {
    title: 'Faults in a fleet',
    about:
      'Three servers behind HAProxy, three workers, and PostgreSQL with a synchronous standby under Patroni and etcd: all real processes, each on a host of its own network. Clients spawn with idempotency keys and wait in the queue, run commands and end sandboxes through the balancer, and one reads events. Then a server, a worker, a database or etcd is killed, frozen or cut off, the network between two of them is cut, the disk of the primary is filled, or all are restarted. A fault of a server and one of a worker come at the same time. Patroni alone decides about failovers. Clients repeat what failed. An auditor compares what they were given with rows, leases, journals of workers and processes, and what the reader received with the stored events. During faults of the database a stream, a terminal and a preview must go on, and writes must be answered within 10 s with success or with 503 and `Retry-After` (507 while the disk is full).',
    command: 'npm run proof -- --only replicas',
    trials: 'faults injected',
    faults: {
      ...AUDITED,
      events_wrong: 'events missed or doubled',
      noticed: 'failovers that open calls noticed, or that were slow',
    },
    facts: {
      survived: 'survived',
      calls: 'calls',
      failovers: 'failovers',
      failover_ms: 'slowest first write after a promotion, ms',
      outage_ms: 'longest time without a write, ms',
    },
  },
  fuzz: {
    title: 'Hostile input',
    about:
      'Malformed and mutated input, from a seed, for every part that reads input. Nothing may crash, answer with an error of the server, or take long.',
    command: 'npm run fuzz',
    trials: 'cases',
    faults: { crashes: 'crashes', unexpected_5xx: 'unexpected 5xx', wrong: 'wrong answers' },
    facts: { slowest_ms: 'slowest case, ms' },
  },
  soak: {
    title: 'Soak',
    about:
      'Mixed load for a long time with random faults. At the end the server must hold no more memory, descriptors and disk than after its first minutes.',
    command: 'npm run soak',
    trials: 'operations',
    faults: { grown: 'measures that grew', failed: 'failed operations' },
    facts: {
      minutes: 'minutes',
      heap_mb_per_1000: 'heap, MB in 1,000',
      resident_mb_per_1000: 'resident, MB in 1,000',
      descriptors: 'descriptors more',
      loop_delay_p99_ms: 'event loop p99, ms',
      wal_mb: 'largest WAL, MB',
      engine_mb: 'engine, MB more',
    },
  },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as KindName[];

type FaultOf<K extends KindName> = keyof (typeof KINDS)[K]['faults'];
type FactOf<K extends KindName> = keyof (typeof KINDS)[K]['facts'];

/** All faults of a kind are counted, 0 too; facts where there are any. */
export type Counts<K extends KindName> = { trials: number } & Record<FaultOf<K>, number> &
  Partial<Record<FactOf<K>, number>>;
