// Completes a spawn request from its template.
import { ServiceError } from '../../domain/errors.ts';
import { templateRequest } from '../../domain/template.ts';
import { ownedKey, type TemplateKey } from '../../domain/template-key.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import type { TemplateRecord, TemplateStore } from '../../store/seam/templates.ts';

export interface FullRequest {
  request: SpawnRequest;
  /** Commands that run before the sandbox is `running`. */
  setup: readonly string[];
  template?: TemplateRecord;
}

/** Uses the template of `owner_id`, else a shared one. Throws `not_found` for an unknown template. */
export async function withTemplate(
  templates: Pick<TemplateStore, 'get'>,
  request: SpawnRequest,
  owner_id: string | undefined,
): Promise<FullRequest> {
  if (request.template === undefined) return { request, setup: [] };
  const template = await knownTemplate(templates, ownedKey(request.template, owner_id));
  return { request: templateRequest(template, request), setup: template.setup, template };
}

/** The owner's, else the one that is shared. Throws `not_found`. */
export async function knownTemplate(
  store: Pick<TemplateStore, 'get'>,
  key: TemplateKey,
): Promise<TemplateRecord> {
  const template = await store.get(key);
  if (!template) throw unknownTemplate();
  return template;
}

export function unknownTemplate(): ServiceError {
  return new ServiceError('not_found', 'There is no such template.', {
    remedy: 'List templates to see the current ones.',
  });
}
