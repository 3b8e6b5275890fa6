// A way to an engine that loses what a test says: the engine hears every call, its answer may never arrive, and a call may
// reach it late. Calls are named by how they begin: `POST /containers/create?name=one`.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../temporary.ts';

export interface LossyEngine {
  socket: string;
  /** The answers to the next `times` calls that begin so are lost, each when the engine has given it. */
  lose(call: string, times: number): void;
  /** The next such call is never answered, and its connection stays. */
  mute(call: string): void;
  /** As `lose` for one call, which the engine hears of late. */
  delay(call: string): Delayed;
  /** How many answers to such calls are being given. */
  open(call: string): number;
  /** Breaks them off. */
  cut(call: string): void;
}

export interface Delayed {
  /** Resolves when it has been made. */
  made: Promise<void>;
  /** Lets the engine hear of it; resolves when it has done it. */
  hear(): Promise<void>;
}

interface Loss {
  call: string;
  times: number;
  made(): void;
  /** When the engine may hear of it. */
  heard: Promise<void>;
  done(): void;
  isMute?: true;
}

/** Ends with the test. */
export async function lossyEngine(engine: string): Promise<LossyEngine> {
  const socket = join(temporaryFolder(), 's');
  const losses: Loss[] = [];
  const open = new Set<{ call: string; response: ServerResponse }>();
  const given = (call: string) =>
    [...open].filter((one) => one.call.startsWith(call) && !one.response.destroyed);
  const answer = (asked: IncomingMessage, response: ServerResponse) => {
    const call = callOf(asked);
    const loss = losses.find((one) => one.times > 0 && call.startsWith(one.call));
    if (loss) return void forget(engine, asked, { response, loss });
    const onward = passOn(engine, asked, (answered) => {
      open.add({ call, response });
      response.writeHead(answered.statusCode ?? 500, answered.headers).flushHeaders();
      answered.on('error', () => response.destroy()).pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
  };
  const server = createServer(answer).on('upgrade', (asked, near, head) => attach(engine, asked, near, head));
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    socket,
    lose: (call, times) =>
      void losses.push({ call, times, made: () => {}, heard: Promise.resolve(), done: () => {} }),
    mute: (call) =>
      void losses.push({
        call,
        times: 1,
        made: () => {},
        heard: Promise.resolve(),
        done: () => {},
        isMute: true,
      }),
    delay: (call) => {
      const [made, heard, done] = [gate(), gate(), gate()];
      losses.push({ call, times: 1, made: made.open, heard: heard.opened, done: done.open });
      const hear = () => {
        heard.open();
        return done.opened;
      };
      return { made: made.opened, hear };
    },
    open: (call) => given(call).length,
    cut: (call) => {
      for (const { response } of given(call)) response.destroy();
    },
  };
}

function gate(): { opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

const callOf = ({ method, url }: IncomingMessage) => `${method} ${url}`;

function passOn(engine: string, asked: IncomingMessage, answered: (answer: IncomingMessage) => void) {
  const { method, url: path, headers } = asked;
  const onward = request({ socketPath: engine, agent: false, method, path, headers }, answered);
  asked.pipe(onward);
  return onward;
}

/** The engine does it, whoever still waits; its answer goes nowhere. */
async function forget(
  engine: string,
  asked: IncomingMessage,
  { response, loss }: { response: ServerResponse; loss: Loss },
): Promise<void> {
  loss.times -= 1;
  const body: Buffer[] = [];
  for await (const chunk of asked) body.push(chunk);
  loss.made();
  await loss.heard;
  const { method, url: path, headers } = asked;
  const over = () => {
    if (!loss.isMute) response.destroy();
    loss.done();
  };
  request({ socketPath: engine, agent: false, method, path, headers }, (answered) =>
    answered.resume().on('close', over),
  )
    .on('error', over)
    .end(Buffer.concat(body));
}

function attach(
  engine: string,
  { method, url, rawHeaders }: IncomingMessage,
  near: Duplex,
  head: Buffer,
): void {
  const far = connect(engine);
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : [],
  );
  far.write(`${[`${method} ${url} HTTP/1.1`, ...pairs].join('\r\n')}\r\n\r\n`);
  far.write(head);
  near.on('error', () => far.destroy()).on('close', () => far.destroy());
  far.on('error', () => near.destroy()).on('close', () => near.destroy());
  near.pipe(far).pipe(near);
}
