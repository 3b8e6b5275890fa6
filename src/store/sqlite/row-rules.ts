// What the API and its schemas allow in each column, as SQL: a row that somebody else wrote must not become a name, a URL or
// a number that no caller could have sent. What a backend reports (images, runtime ids) is bounded in size alone.
import { ACTOR_PATTERN } from '../../schema/actor.ts';
import { WORKER_ID } from '../../schema/config-kinds.ts';
import { IMAGE_DIGEST, PULL_POLICIES } from '../../schema/image-policy.ts';
import { KEY_ID, KEY_NAME } from '../../schema/key.ts';
import { KEY_SCOPES } from '../../schema/key-words.ts';
import { END_REASONS, LONGEST_WARNING, MOST_WARNINGS } from '../../schema/sandbox.ts';
import { SANDBOX_STATES } from '../../schema/sandbox-states.ts';
import { SESSION_ID } from '../../schema/session.ts';
import { TEMPLATE_NAME } from '../../schema/template.ts';
import { RPC_URL, WORKER_STATUSES } from '../../schema/worker.ts';
import {
  count,
  duration,
  either,
  fits,
  jsonObject,
  names,
  oneOf,
  optional,
  owner,
  pairs,
  type Rule,
  stamp,
  text,
} from './row-rule-kinds.ts';
import { USAGE_RULES } from './usage-row-rules.ts';

const KIB = 1024;
const id = (prefix: string) => fits(`^${prefix}-[a-z0-9-]{1,60}$`, `is not an id such as ${prefix}-…`);
const sandboxId = id('sb');
const workerId = fits(WORKER_ID, 'is not the id of a worker');
const provider = text(64, 1);
const network = oneOf(['default', 'none']);
const shape = {
  image: text(KIB, 1),
  memory_mb: count(1, 1_048_576),
  vcpus: count(1, KIB),
};
const labels = jsonObject(8 * KIB);
const maps = {
  metadata: pairs({ key: '^[\\s\\S]{0,64}$', mostOfValue: KIB, most: 64 }),
  env: pairs({ key: '^[A-Za-z_][A-Za-z0-9_]{0,255}$', mostOfValue: 131_000, most: 256 }),
};
const image_digest = optional(fits(IMAGE_DIGEST, 'is not the digest of an image'));
const warnings = names(10_000, 64 * KIB);
/** A policy with 256 rules each of 300 characters, twice. */
const egress = optional(jsonObject(512 * KIB));
const runtime_id = optional(text(4 * KIB, 1));
const room = count(0, 1_000_000_000);
const keyHash = fits('^[0-9a-f]{64}$', 'is not a SHA-256 in hexadecimal digits');
/** Every subset but the empty one, in the order in which they are stored. */
const scopeLists = Array.from({ length: 2 ** KEY_SCOPES.length - 1 }, (_, subset) =>
  JSON.stringify(KEY_SCOPES.filter((_scope, at) => (subset + 1) & (1 << at))),
);
/** As `domain/seal.ts` writes them. */
const SEALED = '^v1\\.[0-9a-f]{8}\\.[A-Za-z0-9_-]{38,32000}$';
const SECRET_NAME = '^[a-z]{1,32}/[a-z0-9-]{1,63}$';
const actor = fits(ACTOR_PATTERN, 'is not an actor');

export type RowRules = Readonly<Record<string, Rule>>;

/** The key and the column rules of each table; a column that a version lacks is skipped. */
export const ROW_RULES: Readonly<Record<string, { key: string; columns: RowRules }>> = {
  instance: { key: 'id', columns: { id: text(128, 1), key: text(KIB, 1), created_at: stamp } },
  sandboxes: {
    key: 'id',
    columns: {
      id: sandboxId,
      epoch: count(1),
      state: oneOf(SANDBOX_STATES),
      provider,
      ...shape,
      image_digest,
      network,
      ...maps,
      worker_id: workerId,
      owner_id: optional(owner),
      template: optional(text(256, 1)),
      runtime_id,
      vm_id: optional(id('vm')),
      uid: optional(count(0, 2 ** 32 - 1)),
      warnings: names(MOST_WARNINGS, LONGEST_WARNING),
      egress,
      replica_id: optional(id('r')),
      end_reason: optional(oneOf(END_REASONS)),
      created_by: optional(actor),
      ended_by: optional(actor),
      created_at: stamp,
      expires_at: stamp,
      ended_at: optional(stamp),
    },
  },
  owner_quotas: {
    key: 'owner_id',
    columns: {
      owner_id: owner,
      max_sandboxes: count(0, 1_000_000),
      max_ttl: duration,
      max_exec_timeout: duration,
      egress,
      created_at: stamp,
      updated_at: stamp,
    },
  },
  keys: {
    key: 'name',
    columns: {
      id: fits(KEY_ID, 'is not the id of a key'),
      name: fits(KEY_NAME, 'is not the name of a key'),
      hash: keyHash,
      previous_hash: optional(keyHash),
      previous_until: optional(stamp),
      prefix: text(16, 1),
      owner_id: optional(owner),
      scopes: oneOf(scopeLists),
      created_at: stamp,
      created_by: actor,
      expires_at: optional(stamp),
      last_used_at: optional(stamp),
      rotated_at: optional(stamp),
      revoked_at: optional(stamp),
      revoked_by: optional(actor),
    },
  },
  secrets: {
    key: 'name',
    columns: {
      name: fits(SECRET_NAME, 'is not the name of a secret'),
      facts: jsonObject(64 * KIB),
      sealed: fits(SEALED, 'is not a sealed secret'),
      created_at: stamp,
      updated_at: stamp,
    },
  },
  sessions: {
    key: 'id',
    columns: {
      id: fits(SESSION_ID, 'is not the id of a session'),
      hash: keyHash,
      parent: text(64, 1),
      actor,
      owner_id: optional(owner),
      scopes: oneOf(scopeLists),
      created_at: stamp,
      expires_at: stamp,
      ends_at: stamp,
    },
  },
  key_changes: { key: 'changes', columns: { changes: count(0) } },
  templates: {
    key: 'name',
    columns: {
      owner_id: either("''", owner),
      name: fits(TEMPLATE_NAME, 'is not the name of a template'),
      description: optional(text(KIB)),
      version: count(1),
      ...shape,
      image: text(512, 1),
      provider: optional(provider),
      ttl: duration,
      network: optional(network),
      worker_id: optional(workerId),
      worker_labels: labels,
      ...maps,
      setup: names(64, 65_536),
      prewarm: count(0, 1000),
      pull: optional(oneOf(PULL_POLICIES)),
      egress,
      created_at: stamp,
      updated_at: stamp,
    },
  },
  warm_sandboxes: {
    key: 'id',
    columns: {
      id: sandboxId,
      epoch: count(1),
      state: oneOf(['starting', 'ready', 'ending']),
      template: text(256, 1),
      shape: text(256, 1),
      provider,
      ...shape,
      image_digest,
      network,
      runtime_id,
      warnings,
      created_at: stamp,
      worker_id: workerId,
      replica_id: optional(id('r')),
    },
  },
  pool_vms: {
    key: 'id',
    columns: {
      id: id('vm'),
      state: oneOf(['creating', 'running', 'destroying']),
      provider,
      ...shape,
      uids_before: count(0),
      warnings,
      runtime_id,
      created_at: stamp,
    },
  },
  pool_uids: { key: 'given', columns: { given: count(0) } },
  workers: {
    key: 'id',
    columns: {
      id: workerId,
      hostname: text(255),
      status: oneOf(WORKER_STATUSES),
      providers: names(64, 64),
      capabilities: names(64, 64),
      images: names(64, 256),
      labels,
      max_sandboxes: room,
      memory_mb: room,
      vcpus: room,
      rpc_url: optional(fits(RPC_URL, 'is not a URL that a worker may name')),
      version: optional(text(64)),
      drain: count(0, 1),
      secret_print: optional(fits('^[0-9a-f]{64}$', 'is not a SHA-256 in hexadecimal digits')),
      last_heartbeat: stamp,
      created_at: stamp,
      updated_at: stamp,
    },
  },
  leases: {
    key: 'resource_id',
    columns: {
      resource_id: sandboxId,
      holder_id: workerId,
      generation: count(1),
      expires_at: stamp,
      created_at: stamp,
    },
  },
  events: {
    key: 'id',
    columns: {
      id: count(1),
      // Not a list: a later version of the same schema may know more.
      type: fits('^[a-z]{1,32}\\.[a-z_]{1,32}$', 'is not the type of an event'),
      timestamp: stamp,
      sandbox_id: optional(text(128)),
      owner_id: optional(text(512)),
      actor: optional(actor),
      data: optional(jsonObject(1024 * KIB)),
    },
  },
  execs: {
    key: 'id',
    columns: {
      id: count(1),
      sandbox_id: sandboxId,
      exec_id: text(128, 1),
      command: text(64 * KIB),
      detached: count(0, 1),
      actor,
      started_at: stamp,
      ended_at: optional(stamp),
      exit_code: optional(count(0, 255)),
      signal: optional(text(64, 1)),
    },
  },
  ...USAGE_RULES,
  event_ids: { key: 'reserved_through', columns: { reserved_through: count(0) } },
  event_gaps: { key: 'owner_id', columns: { owner_id: text(512), through: count(0) } },
  active_counts: { key: 'provider', columns: { provider, active: count(0) } },
  idempotency: {
    key: 'key',
    columns: {
      scope: text(KIB, 1),
      key: fits('^[!-~]{1,255}$', 'is not an Idempotency-Key'),
      fingerprint: text(256, 1),
      sandbox_id: sandboxId,
      response: optional(jsonObject(8 * 1024 * KIB)),
      created_at: stamp,
    },
  },
  audit: {
    key: 'id',
    columns: {
      id: count(1),
      actor: text(KIB, 1),
      user_id: optional(text(64 * KIB)),
      method: text(KIB),
      path: text(64 * KIB),
      status: count(0, 999),
      request_id: text(KIB),
      remote_addr: text(KIB),
      user_agent: optional(text(64 * KIB)),
      target: optional(text(64 * KIB)),
      frequent: count(0, 1),
      created_at: stamp,
    },
  },
};
