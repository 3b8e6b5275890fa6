// What a command does when its output cannot be written: a reader that goes away (`svc … | head`) ends it without a word,
// a full disk with one.
import { ServiceError } from '../domain/errors.ts';
import { failureText } from './failure.ts';
import { print } from './print.ts';

/** Listens on both outputs, before anyone who listens already. `exitCodeOf` is the command's own. */
export function exitOnOutputError(exitCodeOf: (failure: ServiceError) => number): void {
  for (const stream of [process.stdout, process.stderr])
    stream.prependListener('error', (error: NodeJS.ErrnoException) => leave(error, stream, exitCodeOf));
}

function leave(
  { code }: NodeJS.ErrnoException,
  stream: NodeJS.WriteStream,
  exitCodeOf: (failure: ServiceError) => number,
): never {
  if (code === 'EPIPE') process.exit(process.exitCode ?? 0);
  const failure = new ServiceError('internal', 'The output cannot be written.', {
    remedy: 'Make room where it goes, or send it elsewhere.',
    details: { reason: code },
  });
  if (stream !== process.stderr) print(failureText(failure), process.stderr);
  process.exit(exitCodeOf(failure));
}
