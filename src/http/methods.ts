// Which methods a path takes. A path with a rest (`/files/{path}`) covers fixed ones below it: PUT on `/files/list`
// writes the file `/list`.
import type { Route } from './route.ts';

const EVERY_METHOD = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'];

/** `/sandboxes/{id}/files/{path}` as the router writes it. */
export function routerPath(path: string): string {
  return path.replace('{path}', '*').replaceAll(/\{(\w+)\}/g, ':$1');
}

/** `allowed` in a fixed order, HEAD with GET where the answer is no stream; `refused`: all others the router knows. */
export function methodsAt(path: string, routes: readonly Route[]): { allowed: string[]; refused: string[] } {
  const here = routes.filter((route) => covers(route.path, path));
  const taken = new Set<string>(here.map(({ method }) => method));
  if (here.some(({ method, success }) => method === 'GET' && success.other === undefined)) taken.add('HEAD');
  return {
    allowed: EVERY_METHOD.filter((method) => taken.has(method)),
    refused: EVERY_METHOD.filter((method) => !taken.has(method)),
  };
}

function covers(pattern: string, path: string): boolean {
  return (
    pattern === path || (pattern.endsWith('/{path}') && path.startsWith(pattern.slice(0, -'{path}'.length)))
  );
}
