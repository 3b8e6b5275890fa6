// Standard input for a backend that takes it together with the command: buffered until it ends, up to a limit.
import { PassThrough } from 'node:stream';
import type { Exec } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';

export interface BufferedStdin {
  stdin: Exec['stdin'];
  /** The complete input, once it has ended. Rejects with `payload_too_large`. */
  content: Promise<Buffer>;
}

export function bufferedStdin(maxBytes: number): BufferedStdin {
  const gathered = new PassThrough({ highWaterMark: maxBytes });
  let size = 0;
  return {
    content: gathered.toArray().then((parts) => Buffer.concat(parts)),
    stdin: {
      write: async (data) => {
        size += data.length;
        if (size > maxBytes) throw refuse(gathered, maxBytes);
        gathered.write(data);
      },
      end: () => void gathered.end(),
    },
  };
}

function refuse(gathered: PassThrough, maxBytes: number): ServiceError {
  const error = tooLarge(maxBytes);
  gathered.destroy(error);
  return error;
}

function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError('payload_too_large', `Standard input is over ${maxBytes} bytes here.`, {
    remedy: 'Write the input to a file and let the command read that file.',
  });
}
