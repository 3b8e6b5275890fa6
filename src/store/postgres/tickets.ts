// Spawns that wait, in PostgreSQL. `sandboxes.reserve` admits one in its own transaction (sandboxes.ts).

import type {
  AddedTicket,
  HomeTicket,
  OwnerLack,
  Ticket,
  TicketEnd,
  TicketFacts,
  TicketKey,
  TicketStore,
  WaitingTicket,
} from '../seam/tickets.ts';
import type { Statement } from './connection.ts';
import { encodeJson } from './text.ts';
import type { Work } from './work.ts';

const FACTS = 'id, owner_id, provider, demand, home';
const COLUMNS = `${FACTS}, scope, key, fingerprint, spawn, outcome`;

const ADD: Statement = {
  name: 'ticket-add',
  text: 'SELECT kind, depth, crowded_id, crowded_home FROM svc_add_ticket_22($1::jsonb, $2)',
};
const ADOPT: Statement = {
  name: 'ticket-adopt',
  text: `WITH known AS (SELECT id, fingerprint FROM tickets
      WHERE scope = $1 AND key = $2 AND outcome IS NULL AND ($5::text IS NULL OR home IN ($4, $5))),
    adopted AS (UPDATE tickets SET home = $4 FROM known
      WHERE tickets.id = known.id AND known.fingerprint = $3 AND tickets.outcome IS NULL
        AND ($5::text IS NULL OR tickets.home IN ($4, $5)) RETURNING tickets.*)
    SELECT known.fingerprint <> $3 AS is_other, ${COLUMNS.split(', ').map((column) => `adopted.${column}`)}
      FROM known LEFT JOIN adopted ON true`,
};
const REMOVE: Statement = { name: 'ticket-remove', text: 'SELECT svc_remove_ticket_22($1, $2) AS outcome' };
const END: Statement = {
  name: 'ticket-end',
  text: 'UPDATE tickets SET outcome = $3 WHERE id = $1 AND home = $2 AND outcome IS NULL',
};
const FORGET: Statement = {
  name: 'tickets-forget',
  text: 'DELETE FROM tickets WHERE id = ANY($1::text[]) AND outcome IS NOT NULL',
};
const OF_HOME: Statement = {
  name: 'tickets-of-home',
  text: 'SELECT id, outcome FROM tickets WHERE home = $1',
};
const GET: Statement = { name: 'ticket', text: `SELECT ${COLUMNS} FROM tickets WHERE id = $1` };
const WAITING: Statement = {
  name: 'tickets-waiting',
  text: `SELECT ${FACTS.split(', ').map((column) => `t.${column}`)}, t.seq, coalesce(o.turn, t.seq) AS turn
    FROM tickets t LEFT JOIN ticket_owners o ON o.owner_id = t.owner_id
    WHERE t.outcome IS NULL AND t.seq > $1 ORDER BY t.seq`,
};
const DEPTH: Statement = {
  name: 'tickets-depth',
  text: 'SELECT count(*) AS depth FROM tickets WHERE outcome IS NULL',
};
const MUST_WAIT: Statement = {
  name: 'tickets-must-wait',
  text: `SELECT EXISTS (SELECT 1 FROM tickets WHERE outcome IS NULL AND owner_id = $1)
    OR EXISTS (SELECT 1 FROM tickets t WHERE t.outcome IS NULL AND NOT EXISTS (
      SELECT 1 FROM ticket_owners o WHERE o.owner_id = t.owner_id AND o.lack <> $2)) AS waits`,
};
const LACKS: Statement = {
  name: 'tickets-lack',
  text: 'UPDATE ticket_owners SET lack = $2 WHERE owner_id = $1 AND lack IS DISTINCT FROM $2',
};
const HOMES: Statement = { name: 'tickets-homes', text: 'SELECT DISTINCT home FROM tickets' };
const SWEEP: Statement = {
  name: 'tickets-sweep',
  text: `WITH gone AS (DELETE FROM tickets
      WHERE home = ANY($2::text[]) OR (home = ANY($1::text[]) AND key IS NULL AND outcome IS NULL))
    DELETE FROM ticket_owners o
      WHERE NOT EXISTS (SELECT 1 FROM tickets t WHERE t.owner_id = o.owner_id AND t.outcome IS NULL)`,
};

interface FactsRow {
  id: string;
  owner_id: string;
  provider: string;
  demand: string | null;
  home: string;
}
interface TicketRow extends FactsRow {
  scope: string | null;
  key: string | null;
  fingerprint: string | null;
  spawn: string;
  outcome: string | null;
}
interface Added {
  kind: AddedTicket['kind'];
  depth: number;
  crowded_id: string | null;
  crowded_home: string | null;
}

export function ticketStore(work: Work): TicketStore {
  return {
    add: async ({ claim, ...ticket }, most) => {
      const values = [encodeJson({ ...ticket, ...claim }), most];
      return addedFrom((await work.write<Added & Record<string, unknown>>({ ...ADD, values }))[0]!);
    },
    adopt: (claim, home, from) => adopt(work, claim, home, from),
    remove: async (id, home) => {
      const [row] = await work.write<{ outcome: string | null }>({ ...REMOVE, values: [id, home] });
      return endFrom(row?.outcome ?? null);
    },
    end: async (id, home, end) =>
      void (await work.write({ ...END, values: [id, home, JSON.stringify(end)] })),
    forget: async (ids) => void (await work.write({ ...FORGET, values: [ids] })),
    ofHome: async (home) => {
      const rows = await work.read<{ id: string; outcome: string | null }>({ ...OF_HOME, values: [home] });
      return rows.map(homeTicketFrom);
    },
    get: async (id) => {
      const [row] = await work.read<TicketRow & Record<string, unknown>>({ ...GET, values: [id] });
      return row && { ...ticketFrom(row), ...homeTicketFrom(row) };
    },
    waiting: async (after) => {
      type Row = FactsRow & Pick<WaitingTicket, 'seq' | 'turn'> & Record<string, unknown>;
      const rows = await work.read<Row>({ ...WAITING, values: [after] });
      return rows.map((row) => ({ ...factsFrom(row), seq: row.seq, turn: row.turn }));
    },
    depth: async () => (await work.read<{ depth: number }>(DEPTH))[0]!.depth,
    mustWait: async ({ owner_id, room }) => {
      const values = [owner_id, lackText({ room })];
      return (await work.read<{ waits: boolean }>({ ...MUST_WAIT, values }))[0]!.waits;
    },
    lacks: async (owner_id, lack) =>
      void (await work.write({ ...LACKS, values: [owner_id, lack === undefined ? null : lackText(lack)] })),
    homes: async () => (await work.read<{ home: string }>(HOMES)).map(({ home }) => home),
    sweep: async ({ silent, lost }) => void (await work.write({ ...SWEEP, values: [silent, lost] })),
  };
}

async function adopt(work: Work, claim: TicketKey, home: string, from: string | undefined) {
  const values = [claim.scope, claim.key, claim.fingerprint, home, from ?? null];
  type Row = { is_other: boolean } & { [K in keyof TicketRow]: TicketRow[K] | null };
  const [row] = await work.write<Row & Record<string, unknown>>({ ...ADOPT, values });
  if (row?.is_other) return { kind: 'other_request' as const };
  // Without an id it ended in between.
  return row && row.id !== null
    ? { kind: 'adopted' as const, ticket: ticketFrom(row as TicketRow) }
    : undefined;
}

function addedFrom({ kind, depth, crowded_id, crowded_home }: Added): AddedTicket {
  if (kind !== 'added') return { kind };
  return {
    kind,
    depth,
    ...(crowded_id !== null && crowded_home !== null && { crowded: { id: crowded_id, home: crowded_home } }),
  };
}

const lackText = (lack: OwnerLack) => (lack === 'owner' ? lack : `room ${lack.room}`);

const endFrom = (outcome: string | null): TicketEnd | undefined =>
  outcome === null ? undefined : (JSON.parse(outcome) as TicketEnd);

function homeTicketFrom({ id, outcome }: { id: string; outcome: string | null }): HomeTicket {
  const end = endFrom(outcome);
  return { id, ...(end && { end }) };
}

function factsFrom({ id, owner_id, provider, demand, home }: FactsRow): TicketFacts {
  const facts = { id, owner_id, provider, home };
  return demand === null ? facts : { ...facts, demand };
}

function ticketFrom(row: TicketRow): Ticket {
  const { scope, key, fingerprint, spawn } = row;
  const claim =
    scope !== null && key !== null && fingerprint !== null ? { scope, key, fingerprint } : undefined;
  return { ...factsFrom(row), ...(claim && { claim }), spawn };
}
