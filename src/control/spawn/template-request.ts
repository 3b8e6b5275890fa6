// Completes a spawn request from its template.
import { templateRequest } from '../../domain/template.ts';
import { ownedKey } from '../../domain/template-key.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import type { TemplateRecord, TemplateStore } from '../../store/seam/templates.ts';
import { knownTemplate } from '../records/find-template.ts';

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
