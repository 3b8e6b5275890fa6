// The packaged documents as resources, so that a model cites them: `svc://docs/keys`, `svc://lint/SVC101`.
import { type McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import { cut } from './output.ts';
import { pageIn, pagesIn } from './pages.ts';

const KINDS = {
  docs: { title: 'Documents', description: 'A page of the documents.' },
  lint: { title: 'Lint rules', description: 'The page of a rule of svc config lint.' },
} as const;

export function registerPages(server: McpServer): void {
  for (const kind of ['docs', 'lint'] as const) {
    const list = async () => ({
      resources: pagesIn(kind).map((name) => ({
        uri: `svc://${kind}/${name}`,
        name: `${kind}/${name}`,
        mimeType: 'text/markdown',
      })),
    });
    const template = new ResourceTemplate(`svc://${kind}/{page}`, { list });
    server.registerResource(
      kind,
      template,
      { ...KINDS[kind], mimeType: 'text/markdown' },
      async (uri, { page }) => ({
        contents: [{ uri: uri.href, mimeType: 'text/markdown', text: cut(pageIn(kind, String(page))) }],
      }),
    );
  }
}
