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
  '*': described(Type.String({ description: 'File path without its leading slash.' }), RelativePath),
});
export const TemplateParams = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 128, description: 'Template name.' }),
});
export const ProviderParams = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 64, description: 'Provider kind.' }),
});
export const QuotaParams = Type.Object({
  owner_id: described(Type.String({ minLength: 1, maxLength: 512, description: 'The owner.' }), Owner),
});

export const IDEMPOTENCY = {
  'Idempotency-Key': idempotencyKey(
    'For 24 h the same key, path and body give the same sandbox; another body is a conflict.',
  ),
};

export const EXEC_IDEMPOTENCY = {
  'Idempotency-Key': idempotencyKey(
    'The sandbox keeps the last 256 keys of commands that have ended, each for 24 h: the same key and body join the command while it runs, and give its result with the last 1 MiB of its output afterwards. Another body is a conflict. Such a command has no standard input and runs on when its caller leaves. 400 where the provider has no agent of ours (custom, hosted).',
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
