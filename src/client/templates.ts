// Template calls.
import type { Sandbox } from '../schema/sandbox.ts';
import type {
  Template,
  TemplateCreate,
  TemplateListQuery,
  TemplateSpawn,
  TemplateUpdate,
} from '../schema/template.ts';
import { type CallTerms, type Connection, readJson, send, sendForJson } from './call.ts';

export class TemplatesClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** One page, newest first. */
  async page(
    query: TemplateListQuery = {},
    { signal }: CallTerms = {},
  ): Promise<{ templates: Template[]; next_cursor?: string }> {
    const answer = await send(this.#connection, 'listTemplates', { query, signal });
    const next = answer.headers['x-next-cursor'];
    const templates = await readJson<Template[]>(answer, signal);
    return typeof next === 'string' ? { templates, next_cursor: next } : { templates };
  }

  get(name: string, { signal }: CallTerms = {}): Promise<Template> {
    return sendForJson(this.#connection, 'getTemplate', { params: { name }, signal });
  }

  create(template: TemplateCreate, { signal }: CallTerms = {}): Promise<Template> {
    return sendForJson(this.#connection, 'createTemplate', { json: template, signal });
  }

  /** Replaces the template. With `version`, rejects with `precondition_failed` if it is not the current one. */
  update(
    name: string,
    template: TemplateUpdate,
    version?: number,
    { signal }: CallTerms = {},
  ): Promise<Template> {
    const headers = version === undefined ? {} : { headers: { 'if-match': `"${version}"` } };
    return sendForJson(this.#connection, 'updateTemplate', {
      params: { name },
      json: template,
      ...headers,
      signal,
    });
  }

  async delete(name: string, { signal }: CallTerms = {}): Promise<void> {
    await sendForJson(this.#connection, 'deleteTemplate', { params: { name }, signal });
  }

  /** The same key returns the same sandbox for 24 h. */
  spawn(
    name: string,
    overrides: TemplateSpawn = {},
    options: { idempotencyKey?: string; signal?: AbortSignal } = {},
  ): Promise<Sandbox> {
    const { idempotencyKey: key, signal } = options;
    return sendForJson(this.#connection, 'spawnTemplate', {
      params: { name },
      json: overrides,
      signal,
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    });
  }
}
