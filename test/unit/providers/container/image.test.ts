// An image that is not on the engine: pulled once for all who wait, told of on the way, and refused in our words.
import type { ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { openEngine } from '../../../../src/providers/container/engine.ts';
import { type Images, images } from '../../../../src/providers/container/image.ts';
import { containerConfig } from '../../../support/container.ts';
import { fakeClock, type RecordingLogger, recordingLogger } from '../../../support/fakes.ts';
import { type ScriptedEngine, scriptedEngine, status } from '../../../support/scripted-engine.ts';
import { until } from '../../../support/until.ts';

const LOOK = 'GET /images/team/app%3A1/json';
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

async function place(): Promise<Place> {
  const [scripted, clock, logger] = [await scriptedEngine(), fakeClock(), recordingLogger()];
  const engine = openEngine({ config: { ...containerConfig(), socket: scripted.socket }, clock });
  onTestFinished(() => engine.close());
  const all = images({ engine, clock, logger, policy: 'missing' });
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
  scripted.on(LOOK, missing, missing, missing, there);
  const pulling = slowPull(scripted);
  const waiting = Array.from({ length: 3 }, () => all.ready('team/app:1', forever));
  const response = await pulling;
  await until('all have looked', () => scripted.seen.filter((call) => call === LOOK).length === 3);
  const told = () => logger.lines.filter(({ message }) => message === 'still pulling an image');
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

it('goes on being pulled when one gives up', async () => {
  const { scripted, all, pulls } = await place();
  scripted.on(LOOK, missing, missing, there);
  const pulling = slowPull(scripted);
  const impatient = new AbortController();
  const waiting = [all.ready('team/app:1', impatient.signal), all.ready('team/app:1', forever)];
  const response = await pulling;
  const reason = new Error('enough');
  impatient.abort(reason);
  await expect(waiting[0]).rejects.toBe(reason);
  await until('both have looked', () => scripted.seen.filter((call) => call === LOOK).length === 2);
  response.end();
  expect(await waiting[1]).toEqual(facts);
  expect(pulls()).toBe(1);
});

it.each([
  [
    'in the stream',
    status(200, `{"status":"Pulling"}\n{"error":"pull access denied for team/app"}\n`),
    'refuses',
  ],
  ['with a status', status(404, { message: 'manifest for team/app:1 not found' }), 'no such image'],
  ['for its network', status(500, { message: 'dial tcp: i/o timeout' }), 'cannot be reached'],
])('is refused %s: said which and why, and asked for anew the next time', async (_name, answer, why) => {
  const { scripted, all, pulls } = await place();
  scripted.on(LOOK, missing, missing, there);
  scripted.on(PULL, answer, status(200, '{"status":"Done"}\n'));
  const refused = await all.ready('team/app:1', forever).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'provider_error', message: expect.stringContaining(why) });
  expect(refused).toMatchObject({ message: expect.stringContaining('team/app:1') });
  expect(await all.ready('team/app:1', forever)).toEqual(facts);
  expect(pulls()).toBe(2);
});

it('whose pull breaks off is not had', async () => {
  const { scripted, all } = await place();
  scripted.on(LOOK, missing);
  const pulling = slowPull(scripted);
  const waiting = all.ready('team/app:1', forever);
  const response = await pulling;
  line(response, { status: 'Downloading' });
  response.destroy();
  await expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
});
