// Fastify as we use it: what it holds before the first answer.
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from 'vitest';
import { ServiceError } from '../../../src/domain/errors.ts';
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

// Node tells of the last bytes of a body before it calls the request complete, and the call may fail in between.
it('the failure of a call whose body has come waits for the end of the turn', async () => {
  const app = made();
  const order: string[] = [];
  app.addHook('preParsing', async () => undefined);
  app.addHook('onSend', async () => void order.push('answer'));
  app.post('/', async () => {
    setImmediate(() => order.push('end of the turn'));
    throw new ServiceError('bad_request', 'Refused.');
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  const head = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2';
  socket.write(`${head}\r\n\r\n{}`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toContain('HTTP/1.1 400');
  expect(order).toEqual(['end of the turn', 'answer']);
  socket.destroy();
  await app.close();
});
