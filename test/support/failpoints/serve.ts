// The server of the tests that fails at a point: `svc serve` without the command line, with points around its replies.
import { ServerResponse } from 'node:http';
import { runServer } from '../../../src/app/run-server.ts';
import { at } from './point.ts';

const { end } = ServerResponse.prototype;

// Fastify ends every answer through it; a spawn's is 201, a destroy's is the 200 of a DELETE.
ServerResponse.prototype.end = function (this: ServerResponse, ...given: unknown[]) {
  const destroyed = this.req.method === 'DELETE' && this.statusCode === 200;
  if (this.statusCode === 201) this.once('finish', () => void at('S4').catch(() => this.destroy()));
  const reply = () => Reflect.apply(end, this, given) as ServerResponse;
  if (!destroyed) return reply();
  void at('D4').then(reply, () => this.destroy());
  return this;
} as typeof end;

await runServer({}, '0.0.0');
