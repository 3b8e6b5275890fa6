// The period of `svc usage`.
import { Flags } from '@oclif/core';

const FORMS = 'a month (2026-11), a day, a time in UTC, or hours back (24h)';

export const periodFlags = {
  from: Flags.string({ description: `Start: ${FORMS}. The present month if omitted.` }),
  to: Flags.string({ description: 'End, in the same forms; a month or day is included.' }),
};

export const periodOf = ({ from, to }: { from?: string | undefined; to?: string | undefined }) => ({
  ...(from !== undefined && { from }),
  ...(to !== undefined && { to }),
});
