// The names of every failure class and the one error body of the API (docs/design/api.md#errors).
import { type Static, Type } from 'typebox';

export const ERROR_CODES = [
  'bad_request',
  'unauthorized',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'timeout',
  'conflict',
  'precondition_failed',
  'payload_too_large',
  'unsupported_media_type',
  'resource_limit',
  'provider_error',
  'internal',
  'not_implemented',
  'unavailable',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export const ErrorBody = Type.Object(
  {
    code: Type.Enum([...ERROR_CODES], { description: 'Failure class.' }),
    message: Type.String({ description: 'What is wrong and what to do about it.' }),
    request_id: Type.String({ description: 'The id of this request in the log.' }),
    details: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Facts about the failure. If nothing_done is true, the call can be retried after Retry-After.',
      }),
    ),
  },
  { $id: 'Error', additionalProperties: false },
);
export type ErrorBody = Static<typeof ErrorBody>;
