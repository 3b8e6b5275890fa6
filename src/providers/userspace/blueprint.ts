// Everything that create decided about one sandbox, before a runner's arguments. Types only.
import type { CgroupPlan } from '../local/cgroup-plan.ts';
import type { RootfsView } from './rootfs-view.ts';

export interface Blueprint {
  /** runtime_id. */
  name: string;
  id: string;
  view: RootfsView;
  network: 'none' | 'host';
  /** Path of svc-agent and of the workspace on disk as the runner can reach them. */
  agent: string;
  workspace?: string;
  /** The VM of a pool (src/agent/user.ts): only /workspaces is writable. */
  isPool?: true;
  /** Mount of its bounded terminals, for a runner that can bound none itself. */
  terminals?: string;
  sizes: Sizes;
  cgroups: CgroupPlan;
}

/** Bytes. */
export interface Sizes {
  workspace: number;
  tmp: number;
  shm: number;
  /** For private changes to an image. */
  root: number;
}
