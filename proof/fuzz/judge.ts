// What an answer of the service may be, whatever it was asked: of the described shape, without text that is not ours, and
// never one of the 5xx that stand for a fault.
import { ERROR_TABLE } from '../../src/domain/errors.ts';
import type { ErrorBody } from '../../src/schema/error.ts';
import { undescribed } from '../../test/support/checks/openapi-check.ts';
import { ADMIN_KEY, API_KEY, WORKER_KEY } from './fuzzed-server.ts';

export interface Heard {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** As far as it was read. */
  body: string;
  /** The reader left before the end: a stream. */
  isCut: boolean;
}

export interface Asked {
  method: string;
  url: string;
  /** The request has a body that its route does not accept. */
  hasStrayBody?: boolean;
}

/** Stacks, modules, SQL and errors of the kernel: never in what a caller reads. */
const FOREIGN =
  /\bat .{1,200}:\d+:\d+|node:internal|node_modules|SQLITE_|SqliteError|\bE(NOENT|ACCES|PERM|IO|PIPE|CONNREFUSED)\b[:,]|errno|svc-test-/;
const NAMED_5XX: Record<number, string> = {
  501: 'not_implemented',
  503: 'unavailable',
  507: 'resource_limit',
};

/** What is wrong; undefined when nothing. `method` and `url` are what was asked. */
export function misbehaved(asked: Asked, heard: Heard): string | undefined {
  const keys = [API_KEY, ADMIN_KEY, WORKER_KEY].filter((key) => heard.body.includes(key));
  if (keys.length > 0) return 'a key is in the answer';
  if (asked.method === 'HEAD') return heard.body === '' ? undefined : 'an answer to HEAD has a body';
  if (heard.isCut) return undefined;
  return (heard.status >= 400 && badError(heard)) || notDescribed(asked, heard);
}

export function badError({ status, headers, body }: Heard): string | undefined {
  const said = parsedError(body);
  if (!said) return `${status} without our error shape: ${body.slice(0, 200)}`;
  if (!(said.code in ERROR_TABLE)) return `${status} with the unknown code ${said.code}`;
  if (status >= 500 && NAMED_5XX[status] !== said.code) return `${status} ${said.code}: ${said.message}`;
  if (headers['x-request-id'] !== said.request_id) return 'the request id is not that of the header';
  if (FOREIGN.test(said.message)) return `foreign text in a message: ${said.message}`;
  return undefined;
}

function parsedError(body: string): ErrorBody | undefined {
  try {
    const said = JSON.parse(body) as ErrorBody;
    const isOurs = [said.code, said.message, said.request_id].every((each) => typeof each === 'string');
    return isOurs && said.message !== '' ? said : undefined;
  } catch {
    return undefined;
  }
}

/** What never reaches a route has no description: a path or method that is none. */
function notDescribed(asked: Asked, heard: Heard): string | undefined {
  const said = undescribed(asked, {
    status: heard.status,
    type: String(heard.headers['content-type'] ?? ''),
    body: heard.body,
  });
  if (asked.hasStrayBody && [413, 415].includes(heard.status)) return undefined;
  const isNoRoute = said?.endsWith('is not described') && heard.status >= 400;
  return isNoRoute ? undefined : said;
}
