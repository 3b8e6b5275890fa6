// Who acted, as events, sandboxes, audit records and access lines name it (docs/design/api.md#actors).
import { Type } from 'typebox';
import { described } from './described.ts';

/** In characters: the longest is a worker with an id of 128. */
export const LONGEST_ACTOR = 160;

/** A kind, alone or with a name. Names contain no spaces and no control characters. */
export const ACTOR_PATTERN = '^[a-z_]{1,16}(?::[!-~]{1,143})?$';

const GRAMMAR =
  'key:<name>, admin:X-Admin-API-Key, api:X-API-Key, the same with admin_previous and api_previous for a previous key, worker:<id>, system:<cause> for the service itself, anonymous without a key, or none for a refused key';

/** An actor in an answer. `what` is a noun phrase for what it did. */
export const actorField = (what: string) =>
  Type.Optional(Type.String({ maxLength: LONGEST_ACTOR, description: `${what}: ${GRAMMAR}.` }));

/** An actor as a filter of a query. */
export const actorFilter = (description: string) =>
  Type.Optional(
    described(Type.String({ minLength: 1, maxLength: LONGEST_ACTOR, description }), {
      pattern: ACTOR_PATTERN,
    }),
  );
