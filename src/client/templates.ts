// Template calls.
import type { Sandbox } from '../schema/sandbox.ts';
import type {
  Template,
  TemplateCreate,
  TemplateListQuery,
  TemplateSpawn,
  TemplateUpdate,
} from '../schema/template.ts';
import { type CallTerms, type ExecTerms, keyedTerms } from './call.ts';
import { ClientPart } from './client-part.ts';

export class TemplatesClient extends ClientPart {
  /** One page, newest first. */
  async page(
    query: TemplateListQuery = {},
    terms: CallTerms = {},
  ): Promise<{ templates: Template[]; next_cursor?: string }> {
    const [templates, next] = await this.listPage<Template>('listTemplates', query, terms);
    return { templates, ...next };
  }

  get(name: string, { signal }: CallTerms = {}): Promise<Template> {
    return this.call('getTemplate', { params: { name }, signal });
  }

  create(template: TemplateCreate, { signal }: CallTerms = {}): Promise<Template> {
    return this.call('createTemplate', { json: template, signal });
  }

  /** Replaces the template. With `version`, rejects with `precondition_failed` if it is not the current one. */
  update(
    name: string,
    template: TemplateUpdate,
    version?: number,
    { signal }: CallTerms = {},
  ): Promise<Template> {
    const headers = version === undefined ? {} : { headers: { 'if-match': `"${version}"` } };
    return this.call('updateTemplate', {
      params: { name },
      json: template,
      ...headers,
      signal,
    });
  }

  async delete(name: string, { signal }: CallTerms = {}): Promise<void> {
    await this.call('deleteTemplate', { params: { name }, signal });
  }

  /** The same key returns the same sandbox for 24 h. */
  spawn(name: string, overrides: TemplateSpawn = {}, terms: ExecTerms = {}): Promise<Sandbox> {
    return this.call('spawnTemplate', {
      params: { name },
      json: overrides,
      ...keyedTerms(terms),
    });
  }
}
