// Entry point of the command line, after bin/svc.js.
import { execute } from '@oclif/core';

/** Runs the command in the arguments of this process; `root` is the folder of the package. */
export async function main(root: string): Promise<void> {
  await execute({ dir: root });
}
