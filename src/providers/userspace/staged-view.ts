// The view of a sandbox whose launcher mounts what lies inside other binds: bubblewrap reads the list of all mounts again for each
// bind that it makes, and binds one folder with all that is mounted in it.
import { join } from 'node:path';
import type { RootfsView } from './rootfs-view.ts';

export interface StagedView {
  view: RootfsView;
  /** Name in the stage folder → host path; a folder comes before what is mounted in it. */
  staged: Record<string, string>;
}

/** `stage`: the stage folder. Binds that hold no other stay as they are. */
export function stagedView(view: RootfsView, stage: string): StagedView {
  const isIn = (target: string, folder: string) => target.startsWith(`${folder}/`);
  const holders = view.binds.filter(({ target }) => view.binds.some((other) => isIn(other.target, target)));
  const held = (target: string) => holders.some((holder) => isIn(target, holder.target));
  const nameOf = (target: string) => target.slice(1);
  const binds = view.binds.flatMap((bind) => {
    if (held(bind.target)) return [];
    return [holders.includes(bind) ? { ...bind, source: join(stage, nameOf(bind.target)) } : bind];
  });
  const moved = view.binds.filter((bind) => holders.includes(bind) || held(bind.target));
  return {
    view: { ...view, binds },
    staged: Object.fromEntries(moved.map(({ target, source }) => [nameOf(target), source])),
  };
}
