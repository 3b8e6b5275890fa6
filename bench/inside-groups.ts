// Groups that measure code of the source in this process, without a server.
import { withAdmissions } from './admissions.ts';
import { withDrain } from './drain.ts';
import type { Group } from './group.ts';
import { withFreed } from './queue-handoff.ts';
import { withReaper } from './reaper.ts';
import { redactionPairs } from './redaction.ts';
import { ticketPair } from './ticket.ts';

export const admissions: Group = {
  about: 'admissions in the database',
  isInside: true,
  ids: ['P14', 'P14-parallel'],
  run: (root, measure) => withAdmissions(root, measure),
};

export const freed: Group = {
  about: 'the hand-over of freed capacity to the next waiting spawn',
  isInside: true,
  ids: ['P15', 'P15-flat'],
  run: (root, measure) =>
    withFreed(root, async (pairs) => {
      for (const pair of pairs) await measure(pair);
    }),
};

export const drain: Group = {
  about: 'spawns out of a long queue',
  isInside: true,
  ids: ['P16'],
  run: (root, measure) => withDrain(root, measure),
};

export const reaper: Group = {
  about: 'deadlines of many sandboxes',
  isInside: true,
  ids: ['P25-idle', 'P25-due'],
  run: (root, measure) =>
    withReaper(root, async (pairs) => {
      for (const pair of pairs) await measure(pair);
    }),
};

export const ticket: Group = {
  about: 'memory of tickets in the queue',
  isInside: true,
  ids: ['P15-ticket'],
  run: (_root, measure) => measure(ticketPair),
};

export const redaction: Group = {
  about: 'redaction of secrets',
  isInside: true,
  ids: ['P32-text', 'P32-structures', 'P32-hostile'],
  run: async (_root, measure) => {
    for (const pair of redactionPairs()) await measure(pair);
  },
};
