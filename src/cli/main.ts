// Where the command line begins, after bin/svc.js.
import { execute } from '@oclif/core';

/** Runs the command that the arguments of this process name; `root` is the folder of the package. */
export async function main(root: string): Promise<void> {
  await execute({ dir: root });
}
