// What a sandbox is made of: the request, and what was chosen for it.
import type { RuntimeSpec } from '../provider.ts';
import type { ChosenImage } from './image.ts';
import type { SandboxUser } from './image-user.ts';

/** The program that creates the namespaces. */
export interface Runner {
  name: 'bwrap' | 'unshare' | 'proot';
  path: string;
}

export interface CreateOrder {
  runner: Runner;
  spec: RuntimeSpec;
}

/** An order whose image has been found. */
export interface PlannedOrder extends CreateOrder {
  image: ChosenImage;
  user: SandboxUser;
}
