// Connections, console and the session itself through the real agent.
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { AGENTS } from '../support/hosts/real-agent.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

async function listen(onSocket: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) =>
    onSocket(socket.on('error', () => undefined)),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

for (const { way, startAgent } of AGENTS)
  describeWith(['cc'], `connections ${way}`, () => {
    test('echo 16 MiB with a half-close', async () => {
      const io = await (await startAgent()).open();
      const port = await listen((socket) => socket.pipe(socket));
      const duplex = await io.connect(port);
      const body = Buffer.alloc(16 * 1024 * 1024, 'abcdefghi');
      duplex.end(body);
      expect((await buffer(duplex)).equals(body)).toBe(true);
    });

    test('let the peer answer after we half-close', async () => {
      const io = await (await startAgent()).open();
      const port = await listen((socket) => {
        let heard = '';
        socket.on('data', (chunk) => {
          heard += chunk;
        });
        socket.on('end', () => socket.end(`heard ${heard}`));
      });
      const duplex = await io.connect(port);
      duplex.end('you');
      expect((await buffer(duplex)).toString()).toBe('heard you');
    });

    test('deliver what we write after the peer half-closes', async () => {
      const io = await (await startAgent()).open();
      const body = Buffer.alloc(1024 * 1024, 'z');
      let heard = 0;
      const port = await listen((socket) => {
        socket.end('bye');
        socket.on('data', (chunk) => {
          heard += chunk.length;
        });
      });
      const duplex = await io.connect(port);
      await once(duplex.resume(), 'end');
      duplex.end(body);
      await until('all bytes', () => heard === body.length);
    });

    test('fail with unavailable where nothing listens', async () => {
      const io = await (await startAgent()).open();
      await expect(io.connect(1)).rejects.toMatchObject({ code: 'unavailable' });
    });

    test('pass destroy on to the peer, and slow the writer for a slow peer', async () => {
      const io = await (await startAgent()).open();
      const sockets: Socket[] = [];
      const port = await listen((socket) => void sockets.push(socket.pause()));
      const duplex = await io.connect(port);
      let taken = 0;
      const write = () =>
        duplex.write(Buffer.alloc(65_536), (error) => {
          if (error) return;
          taken += 65_536;
          write();
        });
      write();
      for (let turn = 0; turn < 50; turn += 1) await io.ping();
      expect(taken).toBeLessThan(32 * 1024 * 1024);
      duplex.destroy();
      const [peer] = sockets;
      peer?.resume();
      await until('the peer to hear', () => peer?.readableEnded || peer?.destroyed);
    });
  });

for (const { way, startAgent } of AGENTS)
  describeWith(['cc'], `the console ${way}`, () => {
    test('shows the output of detached commands and follows it', async () => {
      const io = await (await startAgent()).open();
      const exec = (id: string, script: string) =>
        io.exec({
          exec_id: id,
          argv: ['sh', '-c', script],
          label: script,
          env: { PATH: process.env.PATH ?? '' },
          detach: true,
        });
      await exec('ex-1', 'echo eins').exit;
      const told = async () => {
        const lines: string[] = [];
        for await (const line of io.console({ lines: 100, follow: false })) lines.push(line);
        return lines;
      };
      await until('the line', async () => (await told()).some((line) => line.endsWith(' eins')));
      const following = io.console({ lines: 0, follow: true })[Symbol.asyncIterator]();
      let next = following.next();
      await io.ping();
      await exec('ex-2', 'echo zwei').exit;
      // The end of the first command may be told only now.
      const heard: string[] = [];
      for (; !heard.some((line) => line.includes('zwei')) && heard.length < 3; next = following.next())
        heard.push(String((await next).value));
      expect(heard.at(-1)).toContain('zwei');
      await following.return?.();
      await io.ping();
    });
  });
