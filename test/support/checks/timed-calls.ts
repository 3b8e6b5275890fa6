// Clients that go on calling while something below the server fails: what each call came to, after how long.
import { setTimeout as pause } from 'node:timers/promises';
import type { Api } from '../servers/api.ts';

export interface CallOutcome {
  name: string;
  ms: number;
  status: number;
  /** Of the error; undefined for a success. */
  code?: string | undefined;
  text: string;
}

export interface CallRequest {
  name: string;
  method: string;
  path: string;
  body?: object;
}

/** One call to its end, whatever it is; rejects when the server cuts it off. */
export async function timedCall(
  client: Api,
  { name, method, path, body }: CallRequest,
): Promise<CallOutcome> {
  const began = performance.now();
  const { status, body: answer } = await client.call(method, path, body);
  const text = JSON.stringify(answer) ?? '';
  const code = (answer as { code?: string } | undefined)?.code;
  return { name, ms: performance.now() - began, status, text, ...(status >= 400 && { code }) };
}

/** Asks `/live` over and over until told to stop; all times in ms, shortest first. */
export function pulse(url: string): { stop(): Promise<number[]> } {
  let stopped = false;
  const beats = (async () => {
    const took: number[] = [];
    while (!stopped) {
      const began = performance.now();
      const answer = await fetch(`${url}/api/v1/live`);
      await answer.arrayBuffer();
      if (answer.status !== 200) throw new Error(`/live answered ${answer.status}`);
      took.push(performance.now() - began);
      await pause(50);
    }
    return took.sort((a, b) => a - b);
  })();
  return {
    stop: () => {
      stopped = true;
      return beats;
    },
  };
}
