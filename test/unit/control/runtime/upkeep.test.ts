// The upkeep: only the replica that has the role looks for expired sandboxes, at least every second, as the others write deadlines too.
import { expect, it } from 'vitest';
import { Reaper } from '../../../../src/control/maintenance/reaper.ts';
import type { Destroyer } from '../../../../src/control/runtime/destroy.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { sandboxRecord } from '../../../support/records.ts';

function reaping() {
  const deps = fakeDeps();
  const role = { isHeld: true };
  const marked: string[] = [];
  const looks: number[] = [];
  const due = [sandboxRecord(), sandboxRecord()];
  const reaper = new Reaper({
    ...deps,
    sandboxes: {
      due: async () => {
        looks.push(deps.clock.monotonic());
        return due;
      },
      nextDeadline: async () => undefined,
    },
    destroyer: {
      mark: async (id: string) => {
        marked.push(id);
        return undefined;
      },
    } as unknown as Destroyer,
    roles: { holds: () => role.isHeld, areShared: true },
  });
  return { ...deps, role, marked, looks, due, reaper };
}

it('looks every second while it has the role, and not at all without it', async () => {
  const { clock, role, looks, reaper } = reaping();
  reaper.start();
  await clock.advance(0);
  await clock.advance(2500);
  expect(looks).toEqual([0, 1000, 2000]);
  role.isHeld = false;
  await clock.advance(10_000);
  expect(looks).toHaveLength(3);
  role.isHeld = true;
  await clock.advance(1000);
  expect(looks).toHaveLength(4);
  await reaper.stop();
});

it('marks nothing more once it has lost the role in the middle of a round', async () => {
  const { clock, role, marked, due, reaper } = reaping();
  const { holds } = { holds: () => marked.length === 0 };
  Object.defineProperty(role, 'isHeld', { get: holds });
  reaper.start();
  await clock.advance(500);
  expect(marked).toEqual([due[0]?.id]);
  await reaper.stop();
});
