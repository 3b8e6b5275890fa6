// Links to a port of a sandbox (docs/design/api.md#previews).
import { type Static, Type } from 'typebox';
import { duration, PositiveDuration } from './text-rules.ts';

export const PreviewRequest = Type.Object(
  {
    port: Type.Integer({
      minimum: 1,
      maximum: 65535,
      description: 'Port on which a program in the sandbox listens.',
    }),
    ttl: Type.Optional(
      duration(
        'Lifetime of a signed link, at most that of the sandbox; 1h if omitted. Rejected if previews are public because public links end with their sandbox. A duration such as 90s, 30m or 1h30m.',
        PositiveDuration,
      ),
    ),
  },
  { $id: 'PreviewRequest', additionalProperties: false },
);
export type PreviewRequest = Static<typeof PreviewRequest>;

export const ListeningPort = Type.Object(
  {
    port: Type.Integer({ description: 'The TCP port.' }),
    addresses: Type.Array(Type.String(), {
      description: 'Where programs listen on it; 0.0.0.0 and :: are every address of the sandbox.',
    }),
  },
  { $id: 'ListeningPort', additionalProperties: false },
);
export type ListeningPort = Static<typeof ListeningPort>;

export const PreviewLink = Type.Object(
  {
    url: Type.String({
      description: 'The link for a browser. If previews are signed, it contains a token, which is a secret.',
    }),
    expires_at: Type.String({ format: 'date-time', description: 'When the link expires.' }),
  },
  { $id: 'PreviewLink', additionalProperties: false },
);
export type PreviewLink = Static<typeof PreviewLink>;
