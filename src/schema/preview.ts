// Links to what a sandbox serves on a port (docs/design/api.md#previews).
import { type Static, Type } from 'typebox';
import { duration, PositiveDuration } from './text-rules.ts';

export const PreviewRequest = Type.Object(
  {
    port: Type.Integer({
      minimum: 1,
      maximum: 65535,
      description: 'Port that a program in the sandbox listens on.',
    }),
    ttl: Type.Optional(
      duration(
        'How long a signed link is good, never longer than the sandbox lives; 1h when omitted. Refused where previews are public: those links end with their sandbox. A duration such as 90s, 30m or 1h30m.',
        PositiveDuration,
      ),
    ),
  },
  { $id: 'PreviewRequest', additionalProperties: false },
);
export type PreviewRequest = Static<typeof PreviewRequest>;

export const PreviewLink = Type.Object(
  {
    url: Type.String({ description: 'For a browser. Where previews are signed it holds a token: a secret.' }),
    expires_at: Type.String({ format: 'date-time', description: 'Until then it opens the preview.' }),
  },
  { $id: 'PreviewLink', additionalProperties: false },
);
export type PreviewLink = Static<typeof PreviewLink>;
