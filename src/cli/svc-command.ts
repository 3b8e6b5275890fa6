// Base of every command: adds `--json`, prints failures and sets the exit code. A command returns its result, which oclif
// prints as JSON with `--json`; it prints text for people with `this.log`. Ctrl-C ends a command like any program; commands
// that must clean up handle it themselves.
import { Command } from '@oclif/core';
import type { ServiceError } from '../domain/errors.ts';
import { printable, printableJson } from '../domain/printable.ts';
import { asFailure, failureJson, printFailure, usageFailure } from './failure.ts';
import { INTERRUPTED } from './interruption.ts';
import { exitOnOutputError } from './output-errors.ts';
import { print } from './print.ts';

export abstract class SvcCommand extends Command {
  static override enableJsonFlag = true;

  /** Returns the result that `--json` prints. */
  abstract override run(): Promise<unknown>;

  /** Prints `result` as `text` shows it, and returns it for --json. */
  protected show<T>(result: T, text: (result: T) => string): T {
    this.log(text(result));
    return result;
  }

  /** Sets the exit code for a command that Ctrl-C ended, and returns its result. */
  protected interrupted(): { interrupted: true } {
    process.exitCode = INTERRUPTED;
    return { interrupted: true };
  }

  /** The exit code of a failure; commands can override it. */
  protected exitCodeOf(failure: ServiceError): number {
    return failure.exitCode;
  }

  /** Listens before oclif's own listeners, which throw. */
  protected override async init(): Promise<void> {
    await super.init();
    exitOnOutputError((failure) => this.exitCodeOf(failure));
  }

  /** The parser throws plain errors for values of arguments that are out of range. */
  protected override parse: Command['parse'] = async (options, argv) =>
    super.parse(options, argv).catch((error: Error & { code?: string }) => {
      throw error.code === 'EEXIT' ? error : usageFailure(error);
    });

  /** Prints the failure. Does not rethrow it: oclif would print it again, and exit before all output is written. */
  protected override async catch(error: Error & { code?: string }): Promise<void> {
    // `this.exit(n)` throws this error.
    if (error.code === 'EEXIT') throw error;
    // Otherwise oclif warns that the command did not parse its arguments.
    this.parsed = true;
    const failure = asFailure(error);
    process.exitCode = this.exitCodeOf(failure);
    if (this.jsonEnabled()) this.logJson(failureJson(failure));
    else printFailure(failure);
  }

  protected override logJson(json: unknown): void {
    print(printableJson(json, 2));
  }

  /** Prints text for people; nothing with --json. */
  override log(text = ''): void {
    if (!this.jsonEnabled()) print(text);
  }

  override logToStderr(text = ''): void {
    if (!this.jsonEnabled()) print(text, process.stderr);
  }

  /** Prints a warning as one line. */
  override warn(input: string | Error): string | Error {
    super.warn(printable(typeof input === 'string' ? input : input.message));
    return input;
  }
}
