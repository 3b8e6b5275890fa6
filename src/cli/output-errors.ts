// Ends a command whose output cannot be written: silently when the reader has closed the pipe (`svc … | head`), with a message
// for everything else, such as a full disk.
import { ServiceError } from '../domain/errors.ts';
import { failureText } from './failure.ts';
import { print } from './print.ts';

/** Listens on both outputs before existing listeners. `exitCodeOf` is the command's own. */
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
    remedy: 'Free space at the destination, or write the output elsewhere.',
    details: { reason: code },
  });
  if (stream !== process.stderr) print(failureText(failure), process.stderr);
  process.exit(exitCodeOf(failure));
}
