// Where something can be tried whose folder the first start makes.
import { dirname } from 'node:path';
import type { Host } from '../../host/host.ts';

/** `folder`, or the nearest one above it that exists. */
export async function nearestFolder(host: Pick<Host, 'stat'>, folder: string): Promise<string> {
  let nearest = folder;
  while (nearest !== '/' && nearest !== '.' && !(await host.stat(nearest))) nearest = dirname(nearest);
  return nearest;
}
