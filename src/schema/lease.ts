// A lease: one worker's right to run one sandbox until a moment (docs/design/api.md#workers).
import { type Static, Type } from 'typebox';

export const LeaseTerms = Type.Object({
  resource_id: Type.String({ minLength: 1, maxLength: 128, description: 'The sandbox.' }),
  holder_id: Type.String({ minLength: 1, maxLength: 128, description: 'The worker.' }),
  generation: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Increases by 1 with each acquisition and renewal.',
  }),
  expires_at: Type.String({
    // Exactly as Date writes it: the signature is over the text.
    pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$',
    description: 'UTC with milliseconds.',
  }),
});
export type LeaseTerms = Static<typeof LeaseTerms>;

/** What of it is unknown is ignored: a control plane one version newer may say more. */
export const Lease = Type.Object(
  {
    ...LeaseTerms.properties,
    signature: Type.String({
      pattern: '^[A-Za-z0-9_-]{43}$',
      description: "HMAC-SHA-256 of the other fields under the worker's secret, base64url.",
    }),
  },
  { $id: 'Lease', description: "A worker's right to run a sandbox until expires_at." },
);
export type Lease = Static<typeof Lease>;
