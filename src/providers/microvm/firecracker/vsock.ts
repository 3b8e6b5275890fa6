// A connection to a port of the guest, by the Unix socket in front of Firecracker's vsock: it is asked for in a line and
// agreed to in another, after which the bytes are the guest's. (firecracker docs/vsock.md, host-initiated connections)
import { connect, type Socket } from 'node:net';
import { ServiceError } from '../../../domain/errors.ts';
import type { Clock } from '../../../domain/ports.ts';

const AGREED = /^OK \d{1,10}$/;
/** The longest line: a monitor that a guest has taken over writes it. */
const LONGEST = 32;
const LINE_END = 10;

interface VsockOrder {
  clock: Clock;
  path: string;
  port: number;
  /** The deadline for the connection and the handshake. */
  ms: number;
}

/** Paused. Throws `unavailable` when nobody listens in the guest or nothing is agreed to in time, the signal's reason on abort. */
export function connectVsock({ clock, path, port, ms }: VsockOrder, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect(path);
  return new Promise((resolve, reject) => {
    const leave = () => {
      timer.cancel();
      signal.removeEventListener('abort', abort);
      socket.off('data', take).off('close', lost);
    };
    const refuse = (reason: unknown) => {
      leave();
      socket.destroy();
      reject(reason);
    };
    const abort = () => refuse(signal.reason);
    const lost = () => refuse(notRunning('it closed the connection'));
    const line = lineOf((fault, rest) => {
      if (fault) return refuse(notRunning(fault));
      leave();
      socket.pause();
      if (rest.length > 0) socket.unshift(rest);
      resolve(socket);
    });
    const take = (chunk: Buffer) => line(chunk);
    const timer = clock.after(ms, () => refuse(notRunning('it did not answer in time')));
    signal.addEventListener('abort', abort, { once: true });
    socket.on('error', (cause) => refuse(notRunning('it does not accept connections', cause)));
    socket.on('data', take).on('close', lost).write(`CONNECT ${port}\n`);
  });
}

/** Takes chunks until the line is complete, then passes the bytes behind it, or the fault. */
function lineOf(done: (fault: string | undefined, rest: Buffer) => void): (chunk: Buffer) => void {
  let bytes: Buffer = Buffer.alloc(0);
  return (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    const end = bytes.subarray(0, LONGEST).indexOf(LINE_END);
    if (end < 0 && bytes.length < LONGEST) return;
    const isAgreed = end >= 0 && AGREED.test(bytes.toString('latin1', 0, end));
    done(isAgreed ? undefined : 'it sent an invalid answer', bytes.subarray(end + 1));
  };
}

function notRunning(words: string, cause?: unknown): ServiceError {
  return new ServiceError('unavailable', 'The sandbox is not running.', {
    cause: new Error(`the vsock of the virtual machine: ${words}`, { cause }),
    remedy: 'Destroy it and spawn a new one.',
  });
}
