// Templates (docs/design/api.md#templates).
import { Type } from 'typebox';
import { Sandbox } from '../../schema/sandbox.ts';
import {
  Template,
  TemplateCreate,
  TemplateDeleted,
  TemplateListQuery,
  TemplateSpawn,
  TemplateUpdate,
} from '../../schema/template.ts';
import { Answer } from '../answer.ts';
import { idempotencyOf } from '../headers/idempotency-key.ts';
import { IfMatch, tagOf, versionsOf } from '../headers/if-match.ts';
import { defineRoute, type Route } from '../route.ts';
import { IDEMPOTENCY, SPAWN_ERRORS, TemplateParams } from './params.ts';

const tag = 'templates';
const auth = 'api';
const ETAG = { ETag: 'The version of the template in double quotes.' };

export const templateRoutes: Route[] = [
  defineRoute({
    id: 'createTemplate',
    tag,
    auth,
    summary: 'Create a template',
    description:
      'With auth.enforce_owner, the template belongs to the owner in X-User-ID. An administrator who sends no X-User-ID shares it with all owners.',
    body: TemplateCreate,
    success: {
      status: 201,
      description: 'The new template with version 1.',
      schema: Template,
      headers: ETAG,
    },
    errors: ['not_found', 'conflict', 'resource_limit', 'not_implemented'],
    example: { name: 'python', image: 'python:3.12', env: { LANG: 'C.UTF-8' }, setup: ['pip install numpy'] },
    handler: async ({ body, caller }, { templates }) => {
      const template = await templates.create(body, caller);
      return new Answer(template, { headers: tagOf(template) });
    },
  }),
  defineRoute({
    id: 'listTemplates',
    tag,
    auth,
    summary: 'List templates, newest first',
    description:
      'With auth.enforce_owner, lists the templates of the caller and the shared templates. Administrators see all templates. A page holds fewer templates than limit when they are large.',
    query: TemplateListQuery,
    success: {
      status: 200,
      description: 'One page of results.',
      schema: Type.Array(Template),
      headers: { 'X-Next-Cursor': 'Cursor of the next page. Absent on the last page.' },
    },
    errors: [],
    handler: async ({ query, caller, hold }, { templates }) => {
      const page = await templates.list(query, caller, hold);
      const next = page.next_cursor;
      return new Answer(page.templates, next === undefined ? {} : { headers: { 'X-Next-Cursor': next } });
    },
  }),
  defineRoute({
    id: 'getTemplate',
    tag,
    auth,
    summary: 'Get a template',
    description:
      'With auth.enforce_owner, returns the template of the caller, or the shared template of this name if the caller has none.',
    params: TemplateParams,
    success: { status: 200, description: 'The template.', schema: Template, headers: ETAG },
    errors: ['not_found'],
    handler: async ({ params, caller }, { templates }) => {
      const template = await templates.get(params.name, caller);
      return new Answer(template, { headers: tagOf(template) });
    },
  }),
  defineRoute({
    id: 'updateTemplate',
    tag,
    auth,
    summary: 'Replace a template',
    description:
      'Replaces the entire template. Omitted fields get their defaults. Running sandboxes do not change.',
    params: TemplateParams,
    body: TemplateUpdate,
    headers: { 'If-Match': IfMatch },
    success: {
      status: 200,
      description: 'The template with the next version.',
      schema: Template,
      headers: ETAG,
    },
    errors: ['forbidden', 'not_found', 'precondition_failed', 'resource_limit', 'not_implemented'],
    example: { image: 'python:3.13', prewarm: 2 },
    handler: async ({ params, body, caller, headers }, { templates }) => {
      const template = await templates.update(params.name, body, caller, versionsOf(headers));
      return new Answer(template, { headers: tagOf(template) });
    },
  }),
  defineRoute({
    id: 'deleteTemplate',
    tag,
    auth,
    summary: 'Delete a template',
    description: 'Sandboxes that were spawned from the template keep running.',
    params: TemplateParams,
    success: { status: 200, description: 'The template was deleted.', schema: TemplateDeleted },
    errors: ['forbidden', 'not_found'],
    handler: async ({ params, caller }, { templates }) => {
      await templates.delete(params.name, caller);
      return { status: 'deleted' as const };
    },
  }),
  defineRoute({
    id: 'spawnTemplate',
    tag,
    auth,
    summary: 'Spawn a sandbox from a template',
    description:
      'The response comes when the sandbox is running. Fields of the request take precedence over the template; metadata and env are merged.',
    params: TemplateParams,
    body: TemplateSpawn,
    bodyOptional: true,
    headers: IDEMPOTENCY,
    success: { status: 201, description: 'The running sandbox.', schema: Sandbox },
    errors: SPAWN_ERRORS,
    example: { ttl: '1h' },
    handler: ({ params, body, caller, headers, disconnect }, { templates }) =>
      templates.spawn(params.name, body, caller, idempotencyOf(headers), disconnect),
  }),
];
