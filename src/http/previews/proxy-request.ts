// One request to a preview from its tunnel to its end: as a request with an answer, or as a WebSocket.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../domain/ports.ts';
import { type PreviewTarget, previewName } from '../../domain/preview.ts';
import type { InFlight } from '../in-flight.ts';
import type { Connection } from '../socket/upgrades.ts';
import { badAnswer } from './guest-answer.ts';
import { type ClientRoute, guestHeaders } from './guest-request.ts';
import { relayResponse } from './relay-response.ts';
import { requestUpstream, type Switched } from './upstream-request.ts';
import { join, switchingHead } from './websocket.ts';

export interface ProxiedRequest {
  target: PreviewTarget;
  raw: IncomingMessage;
  response: ServerResponse;
  /** What the guest is asked for. */
  url: string;
  route: ClientRoute;
  /** Set for a request for a WebSocket. */
  connection: Connection | undefined;
}

export interface ProxyDeps {
  domain: string;
  clock: Clock;
  inFlight: InFlight;
  /** Joined connections, so that they can be cut. */
  joined: Set<Duplex>;
}

/** Resolves when it is over. Rejects while nothing has been answered yet. The tunnel is closed in either case. */
export async function proxyRequest(tunnel: Duplex, visit: ProxiedRequest, deps: ProxyDeps): Promise<void> {
  const { raw, url, route, connection } = visit;
  try {
    const headers = guestHeaders(raw, route, connection !== undefined);
    const reply = await requestUpstream(tunnel, { raw, url, headers, clock: deps.clock });
    if (reply.kind === 'answer') await relayResponse(reply.answer, receiverOf(visit, deps));
    else await switchOver(tunnel, reply, visit, deps);
  } finally {
    tunnel.destroy();
  }
}

const nameOf = ({ target }: ProxiedRequest, { domain }: ProxyDeps) => previewName(target, domain);

function receiverOf(visit: ProxiedRequest, deps: ProxyDeps) {
  const { response, route } = visit;
  const { clock, inFlight } = deps;
  return {
    response,
    request_id: route.request_id,
    name: nameOf(visit, deps),
    clock,
    endless: inFlight.endless,
  };
}

async function switchOver(
  tunnel: Duplex,
  { answer, head }: Switched,
  visit: ProxiedRequest,
  deps: ProxyDeps,
): Promise<void> {
  const { raw, response, connection } = visit;
  if (!connection) throw badAnswer();
  const agreed = switchingHead(raw, answer, nameOf(visit, deps));
  const { socket } = connection;
  response.detachSocket(socket as never);
  response.statusCode = 101;
  deps.inFlight.detached(socket);
  deps.joined.add(socket);
  socket.write(Buffer.concat([Buffer.from(agreed, 'latin1'), head]));
  tunnel.write(connection.head);
  await join(socket, tunnel, deps.clock);
  deps.joined.delete(socket);
  // For the access log and the count of requests in flight.
  response.emit('close');
}
