// Fastify as we use it: what it holds before the first answer.
import { expect, it } from 'vitest';
import { createFastify } from '../../../src/http/framework.ts';
import { ROUTES } from '../../../src/http/routes/routes.ts';
import { serializedAs } from '../../../src/http/send.ts';
import { fakeDeps } from '../../support/fakes/ports.ts';

const made = () => createFastify({ ...fakeDeps(), always: (_request, _reply, done) => done() });

it('a route with a schema and without a validator does not start', async () => {
  const app = made();
  app.get('/', { schema: { querystring: { type: 'object' } } }, async () => 'x');
  await expect(app.ready()).rejects.toThrow('validator');
});

// They are compiled for the first answer: one that cannot be must not wait for that.
it('the answers of all routes have schemas that can be compiled', async () => {
  const app = made();
  app.get('/', async (_request, reply) => {
    const schemas = ROUTES.flatMap((route) =>
      [route.success.status, route.alternative?.status ?? 0].map((status) => serializedAs(route, status)),
    ).filter((schema) => schema !== undefined);
    for (const schema of schemas) reply.compileSerializationSchema(schema as never);
    return { compiled: schemas.length };
  });
  expect((await app.inject('/')).json().compiled).toBeGreaterThan(50);
});
