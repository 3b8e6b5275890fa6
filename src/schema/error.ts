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
    message: Type.String({ description: 'What went wrong and what to do, in words.' }),
    request_id: Type.String({ description: 'Find this id in the log.' }),
    details: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Facts of this failure class; with nothing_done true the call may be sent again after Retry-After.',
      }),
    ),
  },
  { $id: 'Error', additionalProperties: false },
);
export type ErrorBody = Static<typeof ErrorBody>;
