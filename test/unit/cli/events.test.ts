// Events as lines that line up and carry no control bytes.
import { expect, it } from 'vitest';
import { eventHead, eventLine } from '../../../src/cli/events.ts';
import { printable } from '../../../src/domain/printable.ts';
import { stamp } from '../../support/records.ts';

it('aligns the columns with their header', () => {
  const line = eventLine({
    id: 7,
    type: 'exec.completed',
    timestamp: stamp(),
    sandbox_id: 'sb-aaaaaaaaaaaa',
    owner_id: 'ann',
    data: { exec_id: 'ex-1', exit_code: 0, message: 'two words', list: [1] },
  });
  expect(eventHead()).toBe(
    'TIME                      TYPE                 SANDBOX          ID      FACTS'.replace(
      /TYPE +/,
      'TYPE'.padEnd(line.indexOf('sb-') - line.indexOf('exec')),
    ),
  );
  expect(line.replaceAll(/ {2,}/g, '  ')).toBe(
    '2026-01-02T03:04:05.000Z  exec.completed  sb-aaaaaaaaaaaa  7  owner=ann exec_id=ex-1 exit_code=0 message="two words" list=[1]',
  );
  expect(eventLine({ id: 8, type: 'stream.gap', timestamp: stamp() })).toMatch(/stream\.gap +- +8$/);
});

it('shows control characters instead of sending them', () => {
  const line = eventLine({
    id: 1,
    type: 'file.written',
    timestamp: stamp(),
    owner_id: 'a\u202eb',
    data: { path: '/\x1b[2J\n\u0007' },
  });
  expect(line).toBe(printable(line));
});
