// Path parameters and headers that several routes share. Ids are opaque: any text is taken, one that names nothing is not found.
import { Type } from 'typebox';
import { described } from '../../schema/described.ts';
import { Owner, RelativePath } from '../../schema/text-rules.ts';
import { idempotencyKey } from '../headers/idempotency-key.ts';

const id = Type.String({ minLength: 1, maxLength: 128, description: 'Sandbox id.' });

export const SandboxParams = Type.Object({ id });
export const ExecParams = Type.Object({
  id,
  exec_id: Type.String({ minLength: 1, maxLength: 128, description: 'Exec id.' }),
});
/** `*` is what the router calls the rest of a path. */
export const FileParams = Type.Object({
  id,
  '*': described(Type.String({ description: 'Path of the file without the leading slash.' }), RelativePath),
});
export const TemplateParams = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 128, description: 'Template name.' }),
});
export const ProviderParams = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 64, description: 'Provider kind.' }),
});
export const KeyParams = Type.Object({
  key: Type.String({ minLength: 1, maxLength: 64, description: 'Id or name of the key.' }),
});
export const QuotaParams = Type.Object({
  owner_id: described(Type.String({ minLength: 1, maxLength: 512, description: 'The owner.' }), Owner),
});

export const IDEMPOTENCY = {
  'Idempotency-Key': idempotencyKey(
    'For 24 h, a request with the same key, path and body returns the same sandbox. A different body is a conflict.',
  ),
};

export const EXEC_IDEMPOTENCY = {
  'Idempotency-Key': idempotencyKey(
    'A request with the same key and body joins the running command, or returns its result and the last 1 MiB of its output. The sandbox stores the keys of the last 256 commands that ended, each for 24 h. A different body is a conflict. A command with a key has no standard input and keeps running when its caller disconnects. The providers custom and hosted respond with 400 because they do not run the guest agent.',
  ),
};

/** What can happen to every call on files, beside what every route can answer. */
export const FILE_ERRORS = [
  'forbidden',
  'not_found',
  'timeout',
  'conflict',
  'payload_too_large',
  'resource_limit',
  'provider_error',
  'not_implemented',
  'unavailable',
] as const;

/** What can happen to a spawn. A disk of this host that is full is 507. */
export const SPAWN_ERRORS = [
  'forbidden',
  'not_found',
  'conflict',
  'precondition_failed',
  'resource_limit',
  'provider_error',
  'not_implemented',
  'unavailable',
] as const;

/** Client libraries send {} with a POST that says nothing. */
export const NOTHING_SAID = Type.Object({}, { additionalProperties: false });
