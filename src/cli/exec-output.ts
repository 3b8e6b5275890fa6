// Passes a streamed exec on to this process: both outputs byte for byte, and the exit code a shell would give.
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import type { ExecLine } from '../schema/exec.ts';

/** The command's own status, 128+n for a signal, 124 on its deadline; throws when the sandbox was lost. */
export async function passOn(
  lines: AsyncIterable<ExecLine>,
  to: { stdout: Writable; stderr: Writable },
): Promise<{ exit_code: number }> {
  for await (const line of lines) {
    if (line.stream === 'stdout' || line.stream === 'stderr') await write(to[line.stream], line);
    if (line.stream === 'error')
      throw new ServiceError('unavailable', line.message ?? 'The sandbox was lost.');
    if (line.stream !== 'exit') continue;
    return { exit_code: line.exit_code ?? 1 };
  }
  throw new ServiceError('unavailable', 'The server ended the stream without an exit status.');
}

async function write(stream: Writable, { data }: ExecLine): Promise<void> {
  if (!stream.write(Buffer.from(data, 'base64'))) await once(stream, 'drain');
}
