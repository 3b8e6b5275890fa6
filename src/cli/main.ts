// Where the command line begins, after bin/svc.js.
import { execute } from '@oclif/core';

/** Runs the command that the arguments of this process name; `from` is the URL of a file of the package. */
export async function main(from: string): Promise<void> {
  await execute({ dir: from });
}
