// Templates in PostgreSQL.
import type { TemplateKey } from '../../domain/template-key.ts';
import type { EgressPolicy } from '../../schema/egress.ts';
import { refuseTooMany, templateTaken } from '../refusals.ts';
import { fromPairs, parse, toJson, toPairs } from '../rows.ts';
import type { Replacement, TemplateFacts, TemplateRecord, TemplateStore } from '../seam/templates.ts';
import type { Statement } from './connection.ts';
import { encodeJson } from './text.ts';
import type { Work } from './work.ts';

const COLUMNS = `owner_id, name, version, description, image, provider, memory_mb, vcpus, ttl, network, worker_id,
  worker_labels, metadata, env, setup, prewarm, pull, egress, created_at, updated_at`;
/** The owner of a shared one. */
const NOBODY = '';

type Row = Omit<TemplateRecord, 'metadata' | 'env' | 'setup' | 'owner_id' | 'worker_labels' | 'egress'> & {
  egress: string | null;
  owner_id: string;
  worker_labels: string;
  metadata: string;
  env: string;
  setup: string;
};

const SELECT = `SELECT ${COLUMNS} FROM templates`;
const ORDER = 'ORDER BY created_at DESC, name DESC, owner_id DESC LIMIT $1';
const SEEN = "($2::text IS NULL OR owner_id IN ($2, ''))";
const GET: Statement = {
  name: 'template',
  text: `${SELECT} WHERE name = $1 AND owner_id IN ($2, '') ORDER BY owner_id DESC LIMIT 1`,
};
const FIRST: Statement = { name: 'templates-first', text: `${SELECT} WHERE ${SEEN} ${ORDER}` };
const NEXT: Statement = {
  name: 'templates-next',
  text: `${SELECT} WHERE (created_at, name, owner_id) < ($3, $4, $5) AND ${SEEN} ${ORDER}`,
};
const PREWARMED: Statement = {
  name: 'templates-prewarmed',
  text: `${SELECT} WHERE prewarm > 0 ORDER BY name, owner_id`,
};
const CREATE: Statement = {
  name: 'template-create',
  text: 'SELECT kind, present, of_owner FROM svc_create_template_27($1::jsonb, $2, $3, $4, $5)',
};
const REPLACE: Statement = {
  name: 'template-replace',
  text: `SELECT kind, stale_version, ${COLUMNS} FROM svc_replace_template_27($1::jsonb, $2::jsonb, $3, $4)`,
};
const DELETE: Statement = {
  name: 'template-delete',
  text: 'SELECT svc_delete_template_17($1, $2, $3, $4) AS done',
};

export function templateStore(work: Work): TemplateStore {
  return {
    create: async (template, limits) => {
      const values = [encodeJson(toRow(template)), limits.most, limits.ofOwner];
      const [row] = await work.once<{ kind: string; present: number; of_owner: number }>({
        ...CREATE,
        values,
      });
      if (row?.kind === 'taken') throw templateTaken();
      if (row?.kind === 'full')
        refuseTooMany({ all: row.present, ofOwner: row.of_owner }, template.owner_id, limits);
    },
    get: async ({ name, owner_id = NOBODY }) => {
      const [row] = await work.read<Row>({ ...GET, values: [name, owner_id] });
      return row && fromRow(row);
    },
    list: async ({ limit, owner_id = null, after }) => {
      const rows = after
        ? await work.read<Row>({
            ...NEXT,
            values: [limit, owner_id, after.created_at, after.name, after.owner_id ?? NOBODY],
          })
        : await work.read<Row>({ ...FIRST, values: [limit, owner_id] });
      return rows.map(fromRow);
    },
    prewarmed: async () => (await work.read<Row>(PREWARMED)).map(fromRow),
    // A caller may pass a complete record as the key.
    replace: async ({ name, owner_id }, facts, { updated_at, versions }) => {
      const key = { name, ...(owner_id !== undefined && { owner_id }) };
      const record = { ...toRow({ ...facts, ...key }), updated_at };
      const values = [encodeJson(record), encodeJson(versions ?? null)];
      const [row] = await work.once<Row & { kind: string; stale_version: number }>({ ...REPLACE, values });
      return replacement(row!);
    },
    delete: async ({ name, owner_id = NOBODY }: TemplateKey) => {
      const [row] = await work.once<{ done: boolean }>({ ...DELETE, values: [owner_id, name] });
      return row?.done === true;
    },
  };
}

function replacement({
  kind,
  stale_version,
  ...row
}: Row & { kind: string; stale_version: number }): Replacement {
  if (kind === 'absent') return { kind };
  if (kind === 'stale') return { kind, version: stale_version };
  return { kind: 'replaced', template: fromRow(row) };
}

function toRow({ owner_id = NOBODY, ...record }: TemplateFacts & TemplateKey) {
  const [metadata, env] = [toPairs(record.metadata), toPairs(record.env)];
  const [setup, worker_labels] = [JSON.stringify(record.setup), JSON.stringify(record.worker_labels)];
  return { ...record, owner_id, metadata, env, setup, worker_labels, egress: toJson(record.egress) };
}

/** Leaves out what is NULL, and the owner of a shared one. */
function fromRow(row: Row): TemplateRecord {
  const values = Object.entries(row).filter(([, value]) => value !== null && value !== NOBODY);
  const [metadata, env] = [fromPairs(row.metadata), fromPairs(row.env)];
  const record = Object.fromEntries(values) as unknown as TemplateRecord;
  // An empty description is a value, an empty owner is none.
  if (row.description === '') record.description = '';
  const worker_labels = parse(row.worker_labels) as Record<string, string>;
  if (row.egress !== null) record.egress = parse(row.egress) as EgressPolicy;
  return Object.assign(record, { metadata, env, setup: parse(row.setup) as string[], worker_labels });
}
