// The database file and its last events, read from the file: also when no server runs. Rows themselves stay out.
import { existsSync } from 'node:fs';
import { inspectDatabase } from '../../../store/sqlite/inspect.ts';
import { newestEvents } from '../../../store/sqlite/newest-events.ts';
import type { BundleWorld, Section } from '../world.ts';

const EVENTS = 500;

const pathOf = ({ reading }: BundleWorld) => reading.config.database?.path ?? '';
const skipped = (world: BundleWorld) => (existsSync(pathOf(world)) ? undefined : 'there is no database yet');

export const DATABASE: Section = {
  id: 'database',
  title: 'What the database holds, in numbers',
  skipped,
  collect: async (world) => inspectDatabase(pathOf(world)),
};

export const EVENTS_SECTION: Section = {
  id: 'events',
  title: `The newest ${EVENTS} events`,
  skipped,
  collect: async (world) => newestEvents(pathOf(world), EVENTS),
};
