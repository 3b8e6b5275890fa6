// Which methods a path takes, for the answer to one that it does not take.
import { ServiceError } from '../domain/errors.ts';
import { API_PREFIX } from './paths.ts';
import type { Route } from './route.ts';

const ORDER = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'];

/** `/sandboxes/{id}/files/{path}` as the router writes it. */
export function routerPath(path: string): string {
  return path.replace('{path}', '*').replaceAll(/\{(\w+)\}/g, ':$1');
}

/** HEAD goes with GET, but where the answer is a stream: it would be made for nobody. */
export function hasHead({ method, success }: Route): boolean {
  return method === 'GET' && success.other === undefined;
}

/** Makes the failure for a request that no route took: 405 with the path's methods, or 404. */
export function unroutedFailure(routes: readonly Route[]): (url: string) => ServiceError {
  const patterns = routes.map((route) => ({ route, pattern: patternOf(route.path) }));
  return (url) => {
    const [path = ''] = url.split(/[?#]/, 1);
    // None of ours ends with a slash; a file's path does not either.
    const here = path.endsWith('/')
      ? []
      : patterns.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route);
    if (here.length > 0) return wrongMethod(here);
    const remedy = path.startsWith(`${API_PREFIX}/`)
      ? `See ${API_PREFIX}/openapi.json for the paths there are; none ends with a slash.`
      : `The API lies below ${API_PREFIX}.`;
    return new ServiceError('not_found', 'There is nothing at this path.', { remedy });
  };
}

function wrongMethod(routes: readonly Route[]): ServiceError {
  const taken = new Set(routes.flatMap((route) => (hasHead(route) ? ['GET', 'HEAD'] : [route.method])));
  const allow = ORDER.filter((method) => taken.has(method));
  return new ServiceError('method_not_allowed', 'This path does not take this method.', {
    details: { allow },
  });
}

function patternOf(path: string): RegExp {
  const segments = path
    .replaceAll('.', '\\.')
    .replace('{path}', '.+')
    .replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${API_PREFIX}${segments}$`, 's');
}
