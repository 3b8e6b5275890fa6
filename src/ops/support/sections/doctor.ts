// What `svc doctor --production` finds on this machine.
import type { Section } from '../sources.ts';

export const DOCTOR: Section = {
  id: 'doctor',
  title: 'This machine, examined',
  skipped: ({ doctor }) => (doctor ? undefined : 'not asked for; see --include-doctor'),
  collect: async ({ doctor }) => doctor?.(),
};
