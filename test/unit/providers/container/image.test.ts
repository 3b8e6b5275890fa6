// An image that is not on the engine: pulled once for all who wait, told of on the way, and refused in our words.
import type { ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import type { ServiceError } from '../../../../src/domain/errors.ts';
import { openEngine } from '../../../../src/providers/container/engine.ts';
import { type Images, type ImagesDeps, images } from '../../../../src/providers/container/image.ts';
import { imagePolicy } from '../../../../src/providers/container/image-policy.ts';
import { notTracked } from '../../../../src/providers/container/pulled-images.ts';
import { fakeClock, type RecordingLogger, recordingLogger } from '../../../support/fakes/ports.ts';
import { containerConfig } from '../../../support/hosts/container.ts';
import { hang, type ScriptedEngine, scriptedEngine, status } from '../../../support/scripted/engine.ts';
import { until } from '../../../support/until.ts';

const LOOK = 'GET /images/docker.io/team/app%3A1/json';
const PULL = 'POST /images/create';
const missing = status(404, { message: 'No such image' });
const there = status(200, { Id: 'sha256:0123', Config: { User: 'app' } });
const facts = { id: 'sha256:0123', user: 'app', volumes: [] };
const forever = new AbortController().signal;

interface Place {
  scripted: ScriptedEngine;
  all: Images;
  logger: RecordingLogger;
  clock: ReturnType<typeof fakeClock>;
  pulls(): number;
}

async function place(change: Partial<ImagesDeps> = {}): Promise<Place> {
  const [scripted, clock, logger] = [await scriptedEngine(), fakeClock(), recordingLogger()];
  const engine = openEngine({ config: { ...containerConfig(), socket: scripted.socket }, clock });
  onTestFinished(() => engine.close());
  const all = images({
    ...{ engine, clock, logger, pullMs: 900_000, policy: 'missing' },
    ...{ allowed: imagePolicy(['*']), bounds: { atOnce: 3, each: 2, waitMs: 60_000 }, pulled: notTracked },
    ...change,
  });
  return { scripted, clock, logger, all, pulls: () => scripted.seen.filter((call) => call === PULL).length };
}

/** A pull in the test's hands. */
function slowPull(scripted: ScriptedEngine): Promise<ServerResponse> {
  return new Promise((resolve) =>
    scripted.on(PULL, (response) => {
      response.writeHead(200).flushHeaders();
      resolve(response);
    }),
  );
}

const line = (response: ServerResponse, told: object) => response.write(`${JSON.stringify(told)}\n`);

it('is pulled once for many, with its progress in the log', async () => {
  const { scripted, clock, logger, all, pulls } = await place();
  scripted.on(LOOK, missing, missing, missing, missing, there);
  const pulling = slowPull(scripted);
  const waiting = Array.from({ length: 3 }, () => all.ready('team/app:1', {}, forever));
  const response = await pulling;
  await until('all have looked', () => scripted.seen.filter((call) => call === LOOK).length === 4);
  const told = () => logger.lines.filter(({ message }) => message === 'Still pulling an image.');
  // Time counts from when the answer's head was read.
  await until('progress is told', async () => {
    await clock.advance(6000);
    line(response, { status: 'Downloading 10 %', id: 'layer' });
    return told().length > 0;
  });
  response.end();
  expect(await Promise.all(waiting)).toEqual([facts, facts, facts]);
  expect(pulls()).toBe(1);
  expect(told()[0]?.fields).toMatchObject({
    image: 'team/app:1',
    layer: 'layer',
    status: 'Downloading 10 %',
  });
});

it('is still pulled for others when one caller gives up', async () => {
  const { scripted, all, pulls } = await place();
  scripted.on(LOOK, missing, missing, missing, there);
  const pulling = slowPull(scripted);
  const impatient = new AbortController();
  const waiting = [all.ready('team/app:1', {}, impatient.signal), all.ready('team/app:1', {}, forever)];
  const response = await pulling;
  const reason = new Error('enough');
  impatient.abort(reason);
  await expect(waiting[0]).rejects.toBe(reason);
  await until('both have looked', () => scripted.seen.filter((call) => call === LOOK).length === 3);
  response.end();
  expect(await waiting[1]).toEqual(facts);
  expect(pulls()).toBe(1);
});

const REFUSALS = [
  status(200, `{"status":"Pulling"}\n{"error":"pull access denied for team/app"}\n`),
  status(404, { message: 'manifest for team/app:1 not found' }),
  status(500, { message: 'Get "http://team/v2/": dial tcp 10.0.0.1:80: connect: connection refused' }),
  status(500, { message: 'http: server gave HTTP response to HTTPS client' }),
  status(500, { message: 'x509: certificate signed by unknown authority' }),
  status(500, { message: 'toomanyrequests: You have reached your pull rate limit' }),
  status(500, { message: 'error parsing HTTP 400 response body: SSH-2.0-OpenSSH_9.2' }),
  status(500, { message: 'received unexpected HTTP status: 500' }),
];

it('is refused in the same words and no sooner, whatever its registry does; the log says why', async () => {
  const told = [];
  for (const refusal of REFUSALS) {
    const { scripted, all, clock, logger } = await place();
    scripted.on(LOOK, missing);
    scripted.on(PULL, refusal);
    const began = clock.monotonic();
    const refused = all.ready('team/app:1', {}, forever).catch((error: unknown) => error);
    let isOver = false;
    void refused.then(() => {
      isOver = true;
    });
    await until('the log says why', () =>
      logger.lines.some(({ message }) => /Could not pull an image/.test(message)),
    );
    expect(isOver).toBe(false);
    await until('it is refused', async () => {
      await clock.advance(100);
      return isOver;
    });
    expect(clock.monotonic() - began).toBeGreaterThanOrEqual(2000);
    const { code, message, remedy } = (await refused) as ServiceError;
    told.push({ code, message, remedy });
  }
  expect(told[0]).toMatchObject({ code: 'provider_error', message: expect.stringContaining('team/app:1') });
  expect(new Set(told.map((one) => JSON.stringify(one))).size).toBe(1);
});

it('is requested again after a refusal', async () => {
  const { scripted, all, clock, pulls } = await place();
  scripted.on(LOOK, missing, missing, missing, missing, there);
  scripted.on(PULL, status(404, {}), status(200, '{"status":"Done"}\n'));
  const refused = all.ready('team/app:1', {}, forever).catch((error: unknown) => error);
  await until('it is refused', async () => {
    await clock.advance(1000);
    return Promise.race([refused.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);
  });
  expect(await all.ready('team/app:1', {}, forever)).toEqual(facts);
  expect(pulls()).toBe(2);
});

it('is not pulled for an account that has as many pulls under way as it may; others go on', async () => {
  const { scripted, all, pulls } = await place();
  scripted.on(PULL, hang);
  const stop = new AbortController();
  const ask = (name: string, account?: string) =>
    all.ready(name, account === undefined ? {} : { account }, stop.signal).catch((error: unknown) => error);
  const first = [ask('team/a:1', 'ann'), ask('team/b:1', 'ann')];
  await until('two are pulled', () => pulls() === 2);
  expect(await ask('team/c:1', 'ann')).toMatchObject({ code: 'unavailable', retryAfterMs: 5000 });
  const others = [ask('team/a:1', 'ann'), ask('team/d:1', 'bob')];
  await until('the other is pulled', () => pulls() === 3);
  // All places are taken: the next one waits.
  others.push(ask('team/e:1'));
  await until('all have looked', () => scripted.seen.filter((call) => call.startsWith('GET')).length >= 9);
  expect(pulls()).toBe(3);
  stop.abort(new Error('enough'));
  await Promise.all([...first, ...others]);
});

it('is abandoned when its pull takes too long', async () => {
  const { scripted, all, clock } = await place();
  scripted.on(LOOK, missing);
  const pulling = slowPull(scripted);
  const refused = all.ready('team/app:1', {}, forever).catch((error: unknown) => error);
  await pulling;
  let isOver = false;
  void refused.then(() => {
    isOver = true;
  });
  await until('it is refused', async () => {
    await clock.advance(100_000);
    return isOver;
  });
  expect(await refused).toMatchObject({ message: expect.stringContaining('cannot be pulled') });
});

it('whose pull breaks off is missing', async () => {
  const { scripted, all } = await place();
  scripted.on(LOOK, missing);
  const pulling = slowPull(scripted);
  const waiting = all.ready('team/app:1', {}, forever);
  const response = await pulling;
  line(response, { status: 'Downloading' });
  response.destroy();
  await expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
});
