// Templates as the API shows them.
import { maskedEnv } from '../../domain/template.ts';
import type { Template } from '../../schema/template.ts';
import type { TemplateRecord } from '../../store/seam/templates.ts';
import type { Caller } from '../api/caller.ts';

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
