// What a running server says of itself: health, diagnostics and its newest log lines.
import type { Section } from '../sources.ts';

export const SERVER: Section = {
  id: 'server',
  title: 'Health, diagnostics and the newest log lines of the server',
  skipped: ({ client }) => (client ? undefined : 'not requested; use --include-server'),
  collect: async ({ client }) => ({
    health: await client?.system.health(),
    diagnostics: await client?.admin.diagnostics({ logs: true }),
  }),
};
