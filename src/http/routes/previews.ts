// Links to the ports of sandboxes (docs/design/api.md#previews). The previews themselves are not routes:
// http/previews/.
import { Type } from 'typebox';
import { ListeningPort, PreviewLink, PreviewRequest } from '../../schema/preview.ts';
import { defineRoute, type Route } from '../route.ts';
import { SandboxParams } from './params.ts';

export const previewRoutes: Route[] = [
  defineRoute({
    id: 'listPorts',
    tag: 'sandboxes',
    auth: 'api',
    summary: 'List the TCP ports on which programs of a sandbox listen',
    description: 'As the sandbox itself tells, which may say anything: ports to which links can be made.',
    params: SandboxParams,
    success: { status: 200, description: 'The ports, at most 1000.', schema: Type.Array(ListeningPort) },
    errors: ['not_found', 'conflict', 'not_implemented', 'unavailable'],
    handler: ({ params, caller, signal }, { previews }) => previews.listening(params.id, caller, signal),
  }),
  defineRoute({
    id: 'createPreview',
    tag: 'sandboxes',
    auth: 'api',
    summary: 'Create a link to a port of a sandbox',
    description:
      'The port does not have to be open yet. The link uses the scheme and port of this request unless server.preview_scheme is set.',
    params: SandboxParams,
    body: PreviewRequest,
    success: { status: 200, description: 'The link.', schema: PreviewLink },
    errors: ['not_found', 'conflict', 'not_implemented'],
    example: { port: 8080 },
    handler: ({ params, body, caller, headers, scheme }, { previews }) => {
      const port = /:(\d+)$/.exec(headers.host ?? '')?.[1] ?? '';
      return previews.link(params.id, body, caller, { scheme, port });
    },
  }),
];
