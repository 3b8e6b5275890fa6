// This process's terminal given to a command far away: raw, so that every key goes there, and always given back.
import type { LiveCommand } from './live-exec.ts';

/** Keys and sizes go to `socket` until the answer is called, which restores the terminal. Safe twice. */
export function lendTerminal(socket: LiveCommand): () => void {
  const { stdin, stdout } = process;
  const key = (data: Buffer) => {
    stdin.pause();
    void socket.write(data).then(() => stdin.resume());
  };
  const size = () => socket.resize(stdout.rows, stdout.columns);
  const restore = () => {
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.off('data', key).pause();
    stdout.off('resize', size);
    process.off('exit', restore);
  };
  stdin.setRawMode(true);
  // Whatever ends this process: a terminal left raw is of no use to anybody.
  process.once('exit', restore);
  stdin.on('data', key).resume();
  stdout.on('resize', size);
  return restore;
}
