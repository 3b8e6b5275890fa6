// The server of the tests that fails at a point: `svc serve` without the command line, with points around its replies.
import { ServerResponse } from 'node:http';
import { runServer } from '../../src/app/run-server.ts';
import { armByMessage, at, type Step } from './point.ts';

armByMessage();
const { end } = ServerResponse.prototype;

// Fastify ends every answer through it; a spawn's is 201, a destroy's is the 200 of a DELETE.
ServerResponse.prototype.end = function (this: ServerResponse, ...given: unknown[]) {
  const reply = () => Reflect.apply(end, this, given) as ServerResponse;
  const step = stepOf(this);
  if (!step) return reply();
  this.once('finish', () => void at(`after ${step}`).catch(() => this.destroy()));
  void at(`before ${step}`).then(reply, () => this.destroy());
  return this;
} as typeof end;

function stepOf({ req, statusCode }: ServerResponse): Step | undefined {
  if (statusCode === 201 && /\/(sandboxes|spawn)$/.test(req.url ?? '')) return 'reply.spawn';
  return req.method === 'DELETE' && statusCode === 200 && /\/sandboxes\/[^/]+$/.test(req.url ?? '')
    ? 'reply.destroy'
    : undefined;
}

await runServer({}, '0.0.0');
