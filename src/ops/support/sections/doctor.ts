// What `svc doctor --production` finds on this machine.
import type { Section } from '../sources.ts';

export const DOCTOR: Section = {
  id: 'doctor',
  title: 'The doctor report of this machine',
  skipped: ({ doctor }) => (doctor ? undefined : 'not requested; use --include-doctor'),
  collect: async ({ doctor }) => doctor?.(),
};
