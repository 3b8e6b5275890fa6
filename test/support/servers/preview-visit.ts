// A visitor of previews: names resolve to this machine, whatever they are.
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface Visited {
  status: number;
  headers: IncomingMessage['headers'];
  /** As they came. */
  rawHeaders: string[];
  text: string;
}

export interface VisitOptions extends Pick<RequestOptions, 'method' | 'agent'> {
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
}

/** One request to `host`, sent to `port` of this machine. */
export async function visit(
  port: number,
  host: string,
  path = '/',
  { method = 'GET', headers = {}, body, agent = false }: VisitOptions = {},
): Promise<Visited> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const asking = request({
      ...{ port, method, path, agent },
      host: '127.0.0.1',
      headers: { host, ...headers },
    });
    asking.once('response', resolve).once('error', reject);
    asking.end(body);
  });
  const { statusCode = 0, rawHeaders } = answer;
  return { status: statusCode, headers: answer.headers, rawHeaders, text: (await buffer(answer)).toString() };
}

/** Values of all headers of this name. */
export function valuesIn({ rawHeaders }: Pick<Visited, 'rawHeaders'>, name: string): string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}
