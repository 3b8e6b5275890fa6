// Base of every command: `--json` everywhere, one place where failures are told and become exit codes.
// A command returns its result; oclif prints it as JSON when asked. For people it calls `this.log` itself.
// Ctrl-C ends a command as any program (a shell shows 130); commands that leave something behind handle it themselves.
import { Command } from '@oclif/core';
import type { ServiceError } from '../domain/errors.ts';
import { printable, printableJson } from '../domain/printable.ts';
import { asFailure, failureJson, failureText, usageFailure } from './failure.ts';
import { exitOnOutputError } from './output-errors.ts';
import { print } from './print.ts';

export abstract class SvcCommand<Result> extends Command {
  static override enableJsonFlag = true;

  /** Does the work and returns what `--json` prints. */
  abstract override run(): Promise<Result>;

  /** The exit code of a failure: the table's, unless a command has its own convention. */
  protected exitCodeOf(failure: ServiceError): number {
    return failure.exitCode;
  }

  /** Before oclif's own listeners, which throw. */
  protected override async init(): Promise<void> {
    await super.init();
    exitOnOutputError((failure) => this.exitCodeOf(failure));
  }

  /** The parser throws plain errors for values of arguments that are out of range. */
  protected override parse: Command['parse'] = async (options, argv) =>
    super.parse(options, argv).catch((error: Error & { code?: string }) => {
      throw error.code === 'EEXIT' ? error : usageFailure(error);
    });

  /** Tells the failure once. Nothing is thrown on: oclif would print it again and cut output short by exiting. */
  protected override async catch(error: Error & { code?: string }): Promise<void> {
    // `this.exit(n)` travels as an error.
    if (error.code === 'EEXIT') throw error;
    // oclif warns of commands that did not parse, as one does whose parsing failed.
    this.parsed = true;
    const failure = asFailure(error);
    process.exitCode = this.exitCodeOf(failure);
    if (this.jsonEnabled()) this.logJson(failureJson(failure));
    else print(failureText(failure), process.stderr);
    if (process.env.DEBUG && failure.cause instanceof Error) print(failure.cause.stack ?? '', process.stderr);
  }

  protected override logJson(json: unknown): void {
    print(printableJson(json, 2));
  }

  /** For people: nothing under --json. */
  override log(text = ''): void {
    if (!this.jsonEnabled()) print(text);
  }

  override logToStderr(text = ''): void {
    if (!this.jsonEnabled()) print(text, process.stderr);
  }

  /** A warning is one line. */
  override warn(input: string | Error): string | Error {
    super.warn(printable(typeof input === 'string' ? input : input.message));
    return input;
  }
}
