// Templates in the database. Every method is one statement or one IMMEDIATE transaction.
import type { Database } from 'better-sqlite3';
import type { TemplateKey } from '../../domain/template-key.ts';
import { refuseTooMany, templateTaken } from '../refusals.ts';
import { fromPairs, parse, toJson, toPairs } from '../rows.ts';
import type {
  Replacement,
  TemplateFacts,
  TemplateFilter,
  TemplateLimits,
  TemplateRecord,
  TemplateStore,
} from '../seam/templates.ts';
import type { Executor } from './executor.ts';

const FACTS = [
  'description',
  'image',
  'provider',
  'memory_mb',
  'vcpus',
  'ttl',
  'network',
  'worker_id',
  'worker_labels',
  'metadata',
  'env',
  'setup',
  'prewarm',
  'pull',
  'egress',
] as const satisfies readonly (keyof TemplateFacts)[];
const COLUMNS = ['owner_id', 'name', 'version', ...FACTS, 'created_at', 'updated_at'];
const OPTIONAL = ['description', 'provider', 'network', 'worker_id', 'pull', 'egress'] as const;

type FactsRow = { [K in (typeof FACTS)[number]]: string | number | null };
/** The owner of a shared one. */
const NOBODY = '';
type TemplateRow = FactsRow &
  Pick<TemplateRecord, 'name' | 'version' | 'created_at' | 'updated_at'> & { owner_id: string };
type KeyRow = Pick<TemplateRow, 'name' | 'owner_id'>;

export function templateStore(db: Database, work: Executor): TemplateStore {
  const get = db.prepare<KeyRow, TemplateRow>(
    `SELECT ${COLUMNS} FROM templates WHERE name = @name AND owner_id IN (@owner_id, '') ORDER BY owner_id DESC LIMIT 1`,
  );
  const remove = db.prepare<KeyRow>('DELETE FROM templates WHERE owner_id = @owner_id AND name = @name');
  const prewarmed = db.prepare<[], TemplateRow>(
    `SELECT ${COLUMNS} FROM templates WHERE prewarm > 0 ORDER BY name, owner_id`,
  );
  const [create, replace, list] = [creating(db), replacing(db), listing(db)];
  return {
    create: (template, limits) => work.grow(() => create.immediate(template, limits)),
    get: (key) => work.run(() => get.all(keyRow(key)).map(fromRow)[0]),
    list: (filter) => work.run(() => list(filter)),
    prewarmed: () => work.run(() => prewarmed.all().map(fromRow)),
    replace: (key, facts, at) => work.grow(() => replace.immediate(key, facts, at)),
    delete: (key) => work.settle(() => remove.run(keyRow(key)).changes > 0),
  };
}

function listing(db: Database): (filter: TemplateFilter) => TemplateRecord[] {
  const page = (where: string) =>
    db.prepare<object, TemplateRow>(
      `SELECT ${COLUMNS} FROM templates WHERE ${where} ORDER BY created_at DESC, name DESC, owner_id DESC LIMIT @limit`,
    );
  const seen = "(@visible IS NULL OR owner_id IN (@visible, ''))";
  const [first, next] = [
    page(seen),
    page(`(created_at, name, owner_id) < (@created_at, @name, @owner_id) AND ${seen}`),
  ];
  return ({ limit, owner_id: visible = null, after }) => {
    const rows = after
      ? next.all({ limit, visible, created_at: after.created_at, ...keyRow(after) })
      : first.all({ limit, visible });
    return rows.map(fromRow);
  };
}

function creating(db: Database) {
  const taken = db
    .prepare<KeyRow, number>("SELECT 1 FROM templates WHERE name = @name AND owner_id IN (@owner_id, '')")
    .pluck();
  const count = db.prepare<KeyRow, { all: number; ofOwner: number }>(
    `SELECT count(*) AS "all", coalesce(sum(owner_id = @owner_id), 0) AS ofOwner FROM templates
       WHERE (owner_id = '') = (@owner_id = '')`,
  );
  const insert = db.prepare(
    `INSERT INTO templates (${COLUMNS}) VALUES (${COLUMNS.map((column) => `@${column}`)})`,
  );
  return db.transaction((template: TemplateRecord, limits: TemplateLimits): void => {
    const key = keyRow(template);
    if (taken.get(key)) throw templateTaken();
    refuseTooMany(count.get(key) ?? { all: 0, ofOwner: 0 }, template.owner_id, limits);
    insert.run({ ...template, ...toRow(template), ...key });
  });
}

function replacing(db: Database) {
  const where = 'WHERE owner_id = @owner_id AND name = @name';
  const version = db.prepare<KeyRow, number>(`SELECT version FROM templates ${where}`).pluck();
  const update = db.prepare<object, TemplateRow>(
    `UPDATE templates SET ${FACTS.map((column) => `${column} = @${column}`)},
       version = version + 1, updated_at = @updated_at ${where} RETURNING ${COLUMNS}`,
  );
  return db.transaction((...[key, facts, at]: Parameters<TemplateStore['replace']>): Replacement => {
    const present = version.get(keyRow(key));
    if (present === undefined) return { kind: 'absent' };
    if (at.versions && !at.versions.includes(present)) return { kind: 'stale', version: present };
    const [row] = update.all({ ...toRow(facts), ...keyRow(key), updated_at: at.updated_at });
    return { kind: 'replaced', template: fromRow(row as TemplateRow) };
  });
}

const keyRow = ({ name, owner_id = NOBODY }: TemplateKey): KeyRow => ({ name, owner_id });

function toRow(facts: TemplateFacts): FactsRow {
  const {
    description = null,
    provider = null,
    network = null,
    worker_id = null,
    pull = null,
    image,
    memory_mb,
    vcpus,
    ttl,
    prewarm,
  } = facts;
  const [metadata, env, setup] = [toPairs(facts.metadata), toPairs(facts.env), JSON.stringify(facts.setup)];
  const worker_labels = JSON.stringify(facts.worker_labels);
  return {
    description,
    image,
    provider,
    memory_mb,
    vcpus,
    ttl,
    network,
    worker_id,
    worker_labels,
    metadata,
    env,
    setup,
    prewarm,
    pull,
    egress: toJson(facts.egress),
  };
}

function fromRow({ owner_id, ...row }: TemplateRow): TemplateRecord {
  const [metadata, env] = [fromPairs(String(row.metadata)), fromPairs(String(row.env))];
  const owner = owner_id === NOBODY ? {} : { owner_id };
  const record = {
    ...row,
    ...owner,
    metadata,
    env,
    setup: parse(String(row.setup)),
    worker_labels: parse(String(row.worker_labels)),
    egress: row.egress === null ? null : parse(String(row.egress)),
  };
  for (const column of OPTIONAL)
    if (record[column] === null) delete (record as { [K in (typeof OPTIONAL)[number]]?: unknown })[column];
  return record as TemplateRecord;
}
