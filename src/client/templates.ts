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

  get(name: string, terms: CallTerms = {}): Promise<Template> {
    return this.call('getTemplate', { params: { name }, ...terms });
  }

  create(template: TemplateCreate, terms: CallTerms = {}): Promise<Template> {
    return this.call('createTemplate', { json: template, ...terms });
  }

  /** Replaces the template. With `version`, rejects with `precondition_failed` if it is not the current one. */
  update(name: string, template: TemplateUpdate, version?: number, terms: CallTerms = {}): Promise<Template> {
    const headers = version === undefined ? {} : { headers: { 'if-match': `"${version}"` } };
    return this.call('updateTemplate', {
      params: { name },
      json: template,
      ...headers,
      ...terms,
    });
  }

  async delete(name: string, terms: CallTerms = {}): Promise<void> {
    await this.call('deleteTemplate', { params: { name }, ...terms });
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
