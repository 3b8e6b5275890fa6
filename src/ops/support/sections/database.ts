// The database file and its last events, read from the file: also when no server runs. Rows themselves stay out.
import { existsSync } from 'node:fs';
import { inspectDatabase } from '../../../store/sqlite/inspect.ts';
import { newestEvents } from '../../../store/sqlite/newest-events.ts';
import type { BundleSources, Section } from '../sources.ts';

const EVENTS = 500;

const pathOf = ({ reading }: BundleSources) => reading.config.database?.path ?? '';
const skipped = (sources: BundleSources) =>
  existsSync(pathOf(sources)) ? undefined : 'the database does not exist yet';

export const DATABASE: Section = {
  id: 'database',
  title: 'Statistics of the database',
  skipped,
  collect: async (sources) => inspectDatabase(pathOf(sources)),
};

export const EVENTS_SECTION: Section = {
  id: 'events',
  title: `The newest ${EVENTS} events`,
  skipped,
  collect: async (sources) => newestEvents(pathOf(sources), EVENTS),
};
