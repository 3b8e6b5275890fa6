// From the name of a template to its record.
import { ServiceError } from '../../domain/errors.ts';
import type { TemplateKey } from '../../domain/template-key.ts';
import type { TemplateRecord, TemplateStore } from '../../store/seam/templates.ts';

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
