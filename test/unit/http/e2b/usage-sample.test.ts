// Measurements of E2B programs: points that the server kept become samples.
import { expect, it } from 'vitest';
import { earlierSamples, type UsageSample } from '../../../../src/http/e2b/usage-sample.ts';

const NOW: UsageSample = {
  timestamp: '2026-11-26T10:00:30.000Z',
  timestampUnix: Date.parse('2026-11-26T10:00:30Z') / 1000,
  cpuCount: 2,
  cpuUsedPct: 1,
  memUsed: 10,
  memTotal: 100,
  memCache: 0,
  diskUsed: 5,
  diskTotal: 50,
};
const point = (seconds: number, values: object) => ({ at: `2026-11-26T10:00:${seconds}.000Z`, ...values });

it('shows points that were measured before now as samples', () => {
  const points = [
    point(10, { cpu_percent: 150, memory_bytes: 20, disk_bytes: 7 }),
    point(20, { cpu_percent: 0, memory_bytes: 30 }),
  ];
  expect(earlierSamples(NOW, points)).toEqual([
    {
      ...NOW,
      timestamp: points[0]?.at,
      timestampUnix: NOW.timestampUnix - 20,
      cpuUsedPct: 150,
      memUsed: 20,
      diskUsed: 7,
    },
    { ...NOW, timestamp: points[1]?.at, timestampUnix: NOW.timestampUnix - 10, cpuUsedPct: 0, memUsed: 30 },
  ]);
});

it('leaves out what was not measured, and what is not before now', () => {
  const points = [
    point(10, { memory_bytes: 20 }),
    point(20, { cpu_percent: 1 }),
    point(30, { cpu_percent: 1, memory_bytes: 2 }),
  ];
  expect(earlierSamples(NOW, points)).toEqual([]);
});
