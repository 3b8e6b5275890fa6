// The engine's HTTP API: every call has a deadline, every reply a size limit, every failure one of three kinds.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../domain/ports.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';
import { withinDeadline } from '../deadline.ts';
import {
  type EngineReply,
  type EngineRequest,
  readBytes,
  readJson,
  readList,
  requireSuccess,
} from './engine-answers.ts';
import { EngineConnection } from './engine-connection.ts';
import { engineSlow } from './engine-faults.ts';

const CALL_MS = 10_000;

/** A call without a signal ends by its deadline alone. */
export interface Engine {
  /** The complete reply. Rejects with EngineRefusal for a status of 400 or more, `unavailable` for a lost reply. */
  bytes(order: EngineRequest, signal?: AbortSignal): Promise<Buffer>;
  /** Like `bytes`, parsed; undefined for an empty reply. The caller checks the shape. */
  json(order: EngineRequest, signal?: AbortSignal): Promise<unknown>;
  /** Reads a JSON list one element at a time and collects what `read` returns, without undefined. */
  list<T>(order: EngineRequest, signal: AbortSignal, read: (element: unknown) => T | undefined): Promise<T[]>;
  /** A reply to read as a stream; the deadline is for its head. The caller destroys it. */
  stream(order: EngineRequest, signal: AbortSignal): Promise<IncomingMessage>;
  /** The raw connection after a 101. The caller destroys it; `signal` has no effect after that. */
  upgrade(order: EngineRequest, signal: AbortSignal): Promise<Socket>;
  /** The engine's address, for the log and the probe. */
  label(): Promise<string>;
  close(): void;
}

export function openEngine({ config, clock }: { config: ContainerConfig; clock: Clock }): Engine {
  const connection = new EngineConnection(config);
  const timed = <T>(
    { what, ms = CALL_MS }: EngineRequest,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
    late?: (value: T) => void,
  ) => withinDeadline(clock, { ms, expired: () => engineSlow(what, ms), signal }, work, late);
  const answered = <T>(
    order: EngineRequest,
    signal: AbortSignal | undefined,
    read: (answered: EngineReply) => Promise<T>,
  ) =>
    timed(order, signal ?? new AbortController().signal, async (inner) =>
      read(await connection.answer(order, { connection: order.connection ?? 'kept', signal: inner })),
    );
  return {
    bytes: (order, signal) => answered(order, signal, (given) => readBytes(order, given)),
    json: (order, signal) => answered(order, signal, (given) => readJson(order, given)),
    list: (order, signal, read) => answered(order, signal, (given) => readList(order, given, read)),
    stream: (order, signal) =>
      timed(
        order,
        signal,
        async (inner) =>
          requireSuccess(order, await connection.answer(order, { connection: 'own', signal: inner })),
        ({ message }) => message.destroy(),
      ).then(({ message }) => message),
    upgrade: (order, signal) =>
      timed(
        order,
        signal,
        (inner) => connection.socket(order, inner),
        (socket) => socket.destroy(),
      ),
    label: () => connection.label(),
    close: () => connection.close(),
  };
}
