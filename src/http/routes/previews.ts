// Links to the ports of sandboxes (docs/design/api.md#previews). The previews themselves are not routes:
// http/previews/.
import { PreviewLink, PreviewRequest } from '../../schema/preview.ts';
import { defineRoute, type Route } from '../route.ts';
import { SandboxParams } from './params.ts';

export const previewRoutes: Route[] = [
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
