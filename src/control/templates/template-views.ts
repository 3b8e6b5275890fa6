// Templates as the API shows them.
import { ServiceError } from '../../domain/errors.ts';
import { maskedEnv } from '../../domain/template.ts';
import type { TemplateKey } from '../../domain/template-key.ts';
import type { Template } from '../../schema/template.ts';
import type { TemplateRecord, TemplateStore } from '../../store/seam/templates.ts';
import type { Caller } from '../api/control-plane.ts';

/** The owner's, else the one that is shared. Throws `not_found`. */
export async function knownTemplate(
  store: Pick<TemplateStore, 'get'>,
  key: TemplateKey,
): Promise<TemplateRecord> {
  const template = await store.get(key);
  if (!template) throw unknownTemplate();
  return template;
}

/** Empty maps and lists are left out; values of `env` are for admin keys. */
export function templateView(template: TemplateRecord, { role }: Caller): Template {
  const { metadata, env, setup, ...rest } = template;
  return {
    ...rest,
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(Object.keys(env).length > 0 && { env: role === 'admin' ? env : maskedEnv(env) }),
    ...(setup.length > 0 && { setup }),
  };
}

export function unknownTemplate(): ServiceError {
  return new ServiceError('not_found', 'There is no such template.', { remedy: 'List those there are.' });
}
