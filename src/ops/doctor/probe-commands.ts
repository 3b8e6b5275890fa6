// What a doctor does inside a sandbox: a command to its end, and a program that serves a port once.
import type { Duplex } from 'node:stream';
import type { ExecExit, SandboxIo } from '../../agent/io.ts';
import type { Clock } from '../../domain/ports.ts';

const COMMAND_MS = 20_000;
const MOST_BYTES = 4096;
const AGAIN_MS = 50;
const PORT = 18_080;
const ANSWER = 'svc-doctor';

/** Serves `answer` to the first who connects, with whatever the image has for it; 127 where it has nothing. */
export const SERVE_ONCE = {
  answer: ANSWER,
  script: `
if command -v python3 >/dev/null; then exec python3 -c '
import socket
server = socket.create_server(("127.0.0.1", ${PORT}))
client, _ = server.accept()
client.sendall(b"${ANSWER}")
client.close()'
elif command -v busybox >/dev/null; then printf ${ANSWER} | exec busybox nc -l -p ${PORT}
elif command -v nc >/dev/null; then printf ${ANSWER} | exec nc -l -p ${PORT}
else exit 127
fi`,
};

const spec = (argv: string[]) => ({
  exec_id: 'doctor',
  argv,
  label: 'svc doctor',
  env: {},
  timeoutMs: COMMAND_MS,
});

/** Its exit, and the first of its output. */
export async function runToEnd(
  io: SandboxIo,
  argv: string[],
  signal: AbortSignal,
): Promise<ExecExit & { stdout: string }> {
  const exec = io.exec(spec(argv), signal);
  let stdout = '';
  for await (const { channel, data } of exec.output)
    if (channel === 'stdout' && stdout.length < MOST_BYTES) stdout += data.toString('utf8');
  return { ...(await exec.exit), stdout };
}

/** What comes from a port that a program inside serves; undefined when no program can. */
export async function answerOf(
  io: SandboxIo,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  const exec = io.exec(spec(['/bin/sh', '-c', SERVE_ONCE.script]), signal);
  const ended = exec.exit.then(({ exit_code }) => exit_code);
  try {
    return await firstAnswer(io, { clock, ended, signal });
  } finally {
    exec.kill();
    await ended.catch(() => undefined);
  }
}

interface Asking {
  clock: Clock;
  ended: Promise<number>;
  signal: AbortSignal;
}

/** The program needs a moment until it listens. */
async function firstAnswer(io: SandboxIo, { clock, ended, signal }: Asking): Promise<string | undefined> {
  let over: number | undefined;
  ended.then(
    (code) => {
      over = code;
    },
    () => undefined,
  );
  for (;;) {
    signal.throwIfAborted();
    const connection = await io.connect(PORT, signal).catch(() => undefined);
    if (connection) return textOf(connection);
    if (over !== undefined) return undefined;
    await clock.sleep(AGAIN_MS, signal);
  }
}

async function textOf(connection: Duplex): Promise<string> {
  let text = '';
  for await (const chunk of connection) {
    text += String(chunk);
    if (text.length >= ANSWER.length) break;
  }
  connection.destroy();
  return text;
}
