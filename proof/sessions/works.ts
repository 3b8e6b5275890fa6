// What clients do in a sandbox on a worker when a fault comes: each is in the middle of something, and says afterwards what was
// wrong with how it went on. A call may fail, but in time, and what it answered must be true.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage, type RequestOptions } from 'node:http';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { asServiceError } from '../../src/domain/errors.ts';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import { packageRoot } from '../../test/support/servers/server.ts';
import { until } from '../../test/support/until.ts';
import type { Ground, WorkerName } from './ground.ts';

/** Something that a client does. */
export interface Work {
  name: string;
  /** Resolves when it is in the middle. */
  begun: Promise<void>;
  /** Resolves when its call has settled, however. */
  over: Promise<void>;
  /** Gives the call up. */
  leave(): void;
  /** Why its call failed, once it has. */
  failure(): string | undefined;
  /** Asked when the sandbox answers again: what was wrong, as sentences. */
  wrong(): Promise<string[]>;
}

export interface Place {
  ground: Ground;
  /** Of the sandbox, and of those that its clients spawn. */
  worker: WorkerName;
  /** The sandbox. */
  id: string;
  seed: number;
  /** How long its commands go on at least. */
  seconds: number;
}
type Begin = (place: Place) => Work;

const GUEST = readFileSync(join(packageRoot, 'test/support/servers/preview-guest.py'));
/** Numbered lines, so that what is missing or doubled is seen. */
const linesOf = ({ seconds }: Place) => 20 * seconds;
const counting = (place: Place) =>
  `i=0; while [ $i -lt ${linesOf(place)} ]; do echo $i; i=$((i+1)); sleep 0.05; done`;
const CHUNK = 64 * 1024;
/** What fails because of a fault fails as this, and as nothing else. */
const EXPECTED = ['unavailable', 'timeout', 'not_found'];

interface Course {
  name: string;
  run(begin: () => void, signal: AbortSignal): Promise<void>;
  wrong?(outcome: 'done' | 'failed'): Promise<string[]> | string[];
}

/** Runs a call; a failure of a kind that no fault explains is wrong by itself. */
function work({ name, run, wrong }: Course): Work {
  let begin!: () => void;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const left = new AbortController();
  let outcome: 'done' | 'failed' = 'failed';
  const odd: string[] = [];
  let failure: string | undefined;
  const over = run(begin, left.signal)
    .then(() => {
      outcome = 'done';
    })
    .catch((error: unknown) => {
      const { code = asServiceError(error).code } = error as { code?: string };
      failure = `${code}: ${String(error)}`;
      if (left.signal.aborted || EXPECTED.includes(code) || isConnection(error)) return;
      odd.push(`${name} failed with ${code}: ${String(error)}`);
    })
    .finally(() => begin());
  return {
    name,
    begun,
    over,
    leave: () => left.abort(),
    failure: () => failure,
    wrong: async () => [...odd, ...((await wrong?.(outcome)) ?? [])],
  };
}

/** The server was killed: the client's connection broke. */
const isConnection = (error: unknown) =>
  error instanceof TypeError || /ECONN|socket|terminated|other side/i.test(String(error));

/** Numbers that are a part of 0, 1, 2, … from its start. */
function gapIn(what: string, text: string): string[] {
  const lines = text.split('\n').slice(0, -1);
  const at = lines.findIndex((line, n) => line !== String(n));
  return at < 0 ? [] : [`${what} has ${JSON.stringify(lines[at])} as line ${at}`];
}

const lastLine = (place: Place) => `\n${linesOf(place) - 1}\n`;

const stream: Begin = (place) => {
  const { ground, id } = place;
  let text = '';
  return work({
    name: 'a stream',
    run: async (begin, signal) => {
      const ask = { command: counting(place), timeout: '5m' };
      for await (const line of ground.client.execStream(id, ask, signal)) {
        if (line.stream === 'error') throw Object.assign(new Error(line.data), line);
        if (line.stream !== 'stdout') continue;
        text += line.data;
        if (text.includes('9')) begin();
      }
    },
    wrong: (outcome) => [
      ...gapIn('a stream', text),
      ...(outcome === 'done' && !text.endsWith(lastLine(place)) ? ['a stream ended early as if done'] : []),
    ],
  });
};

const detached: Begin = (place) => {
  const { ground, id } = place;
  let exec_id = '';
  return work({
    name: 'a detached command',
    run: async (begin) => {
      exec_id = await ground.client.execs.detach(id, { command: counting(place), timeout: '5m' });
      begin();
    },
    wrong: async () => {
      if (exec_id === '') return [];
      let text = '';
      for await (const line of ground.client.execs.output(id, exec_id, { follow: true }))
        if (line.stream === 'stdout') text += line.data;
      const isWhole = text.endsWith(lastLine(place));
      return [...gapIn('its output', text), ...(isWhole ? [] : ['the output of a detached command is cut'])];
    },
  });
};

const once: Begin = ({ ground, id }) =>
  work({
    name: 'a command that may run once',
    run: async (begin, signal) => {
      const running = ground.client.exec(id, { command: 'echo ran >> once; sleep 60' }, signal);
      await Promise.all([running, pause(300).then(begin)]);
    },
    wrong: async () => {
      const { stdout } = await ground.client.exec(id, { command: 'cat once; rm -f once' });
      return stdout === 'ran\n' ? [] : [`a command ran ${JSON.stringify(stdout)}`];
    },
  });

const upload: Begin = ({ ground, id, seed }) => {
  const bytes = seededRandom(seed).bytes(6 * 1024 * 1024);
  return work({
    name: 'an upload',
    run: async (begin) => {
      const parts = async function* () {
        for (let at = 0; at < bytes.length; at += CHUNK) {
          yield bytes.subarray(at, at + CHUNK);
          if (at > 8 * CHUNK) begin();
          await pause(at > bytes.length / 2 ? 400 : 20);
        }
      };
      const url = `${ground.server.url}/api/v1/sandboxes/${id}/files/workspace/up.bin`;
      const headers = { ...ground.auth, 'content-type': 'application/octet-stream' };
      const init = { method: 'PUT', headers, body: parts(), duplex: 'half' } as unknown as RequestInit;
      const answer = await fetch(url, init);
      if (answer.status === 200) return;
      const { code, message } = (await answer.json()) as { code: string; message: string };
      throw Object.assign(new Error(`${code}: ${message}`), { code });
    },
    wrong: async (outcome) => {
      const { stdout = '' } = await ground.client.exec(id, { command: 'sha256sum < up.bin; rm -f up.bin' });
      const isWhole = stdout.startsWith(createHash('sha256').update(bytes).digest('hex'));
      if (outcome === 'done') return isWhole ? [] : ['an upload that was confirmed is not whole'];
      return stdout === '' || isWhole ? [] : ['a part of an upload that failed has its name'];
    },
  });
};

const terminal: Begin = ({ ground, id }) =>
  work({
    name: 'a terminal',
    run: async (begin, signal) => {
      const socket = await ground.client.openExec(id, { command: 'exec sh', tty: true }, { signal });
      await socket.write('echo u"p"; sleep 300\n');
      let seen = '';
      for await (const event of socket.events()) {
        if (event.type === 'exit') return;
        if (event.type === 'started') continue;
        seen += event.data.toString();
        if (seen.includes('up')) begin();
      }
    },
  });

/** Events of a page, without an end. */
const preview: Begin = ({ ground, id }) =>
  work({
    name: 'a preview',
    run: async (begin, signal) => {
      await ground.client.files.write(id, '/workspace/guest.py', GUEST);
      await ground.client.execs.detach(id, {
        command: 'exec python3 /workspace/guest.py 8000',
        timeout: '5m',
      });
      const { hostname, port } = new URL(ground.server.url);
      const page = { host: hostname, port, headers: { host: `8000-${id}.localhost` }, agent: false };
      const isUp = async () => (await answered({ ...page, path: '/' })).resume().statusCode === 200;
      await until('the page', isUp, 30_000);
      const events = await answered({ ...page, path: '/events' });
      events.on('data', begin);
      signal.addEventListener('abort', () => events.destroy());
      await finished(events).catch(() => undefined);
    },
  });

function answered(asked: RequestOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(asked).once('response', resolve).once('error', reject);
  });
}

const setup: Begin = ({ ground, worker, id }) => {
  let made = '';
  return work({
    name: 'a setup',
    run: async (begin) => {
      const spawning = ground.client.spawn({ template: 'made', worker_id: worker, ttl: '1h' });
      await pause(1000);
      begin();
      made = (await spawning).id;
    },
    wrong: async (outcome) => {
      if (outcome === 'failed') return [];
      const { stdout } = await ground.client.exec(made, { command: 'cat made' });
      await ground.client.destroy(made);
      return stdout === 'one\ntwo\n' ? [] : [`setup left ${JSON.stringify(stdout)} beside ${id}`];
    },
  });
};

export const WORKS = { stream, detached, once, upload, terminal, preview, setup } as const;
