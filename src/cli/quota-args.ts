// The argument that the quota commands share.
import { Args } from '@oclif/core';

export const ownerArg = { owner: Args.string({ description: 'Owner, as in X-User-ID.', required: true }) };
