// A proxy that serves svc below a prefix which it removes, with the lines of docs/proxies.md, on plain HTTP for a browser here.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { temporaryFolder } from '../temporary.ts';
import { nginxFolders, runProxy } from './proxy.ts';
import { packageRoot } from './server.ts';

export interface PrefixProxy {
  /** Of the prefix, with a slash at its end. */
  url: string;
  stop(): Promise<void>;
}

/** Resolves when it takes connections. */
export async function startPrefixProxy(kind: 'caddy' | 'nginx', upstream: string): Promise<PrefixProxy> {
  const folder = temporaryFolder();
  const port = await freePort();
  const own = documented(kind).replaceAll('127.0.0.1:7423', new URL(upstream).host);
  const file = join(folder, kind);
  writeFileSync(file, kind === 'caddy' ? caddyFile(own, port) : nginxFile(own, port, folder));
  const run =
    kind === 'caddy' ? ['run', '--config', file, '--adapter', 'caddyfile'] : ['-e', 'stderr', '-c', file];
  const stop = await runProxy(kind, run, { port, env: { PATH: process.env.PATH ?? '', HOME: folder } });
  return { url: `http://127.0.0.1:${port}/tools/svc/`, stop };
}

/** The block of the document for this proxy. */
function documented(kind: string): string {
  const text = readFileSync(join(packageRoot, 'docs/proxies.md'), 'utf8');
  const section = text.slice(text.indexOf('## Below a prefix'));
  const blocks = [...section.matchAll(/^```text\n(.*?)^```/gms)].map(([, text]) => text);
  const block = blocks[kind === 'caddy' ? 0 : 1];
  if (block === undefined) throw new Error(`docs/proxies.md has no block for ${kind}`);
  return block;
}

const caddyFile = (own: string, port: number) =>
  `{\n\tadmin off\n\tauto_https off\n}\nhttp://127.0.0.1:${port} {\n${own}}\n`;

function nginxFile(own: string, port: number, folder: string): string {
  return `daemon off; pid ${join(folder, 'pid')}; error_log stderr;
events {}
http { ${nginxFolders(folder)} access_log off;
map $http_upgrade $svc_connection { default upgrade; "" close; }
server { listen 127.0.0.1:${port};
${own}
}
}
`;
}
