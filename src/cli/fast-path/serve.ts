// `svc serve` without oclif, whose code and list of all commands would stay in the memory of the server.
import { runServer, type ServeFlags } from '../../app/run-server.ts';
import { asFailure, printFailure } from '../failure.ts';
import { exitOnOutputError } from '../output-errors.ts';

/** Serves until a signal; prints failures and exits as the command does. */
export async function main(flags: ServeFlags, version: string): Promise<void> {
  exitOnOutputError((failure) => failure.exitCode);
  try {
    await runServer(flags, version);
  } catch (error) {
    const failure = asFailure(error);
    process.exitCode = failure.exitCode;
    printFailure(failure);
  }
}
