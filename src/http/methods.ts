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

/**
 * What the last part of a route's path cannot name, since another path has it for its own: `summary` of `/quotas/{owner_id}`.
 * The rest of a path is the sandbox's own, where nothing is reserved.
 */
export function reservedNames(
  { path }: Pick<Route, 'path'>,
  routes: readonly Pick<Route, 'path'>[],
): string[] {
  const above = /^(.*\/)\{(?!path\})\w+\}$/.exec(path)?.[1];
  if (above === undefined) return [];
  const names = routes.flatMap((other) =>
    other.path.startsWith(above) ? other.path.slice(above.length) : [],
  );
  return [...new Set(names.filter((name) => /^[^/{]+$/.test(name)))].sort();
}

/** Makes the failure for a request whose path ends in a reserved name, which the router gave to `route` for its method. */
export function reservedFailure(
  route: Route,
  routes: readonly Route[],
): ((params: unknown) => ServiceError | undefined) | undefined {
  const names = reservedNames(route, routes);
  const parameter = /\{(\w+)\}$/.exec(route.path)?.[1] ?? '';
  if (names.length === 0) return undefined;
  return (params) => {
    const name = (params as Record<string, string>)[parameter] ?? '';
    if (!names.includes(name)) return undefined;
    const path = route.path.replace(`{${parameter}}`, name);
    return wrongMethod(
      routes.filter((other) => other.path === path),
      name,
    );
  };
}

/** Makes the failure for a request that no route took: 405 with the path's methods, or 404. */
export function unroutedFailure(routes: readonly Route[]): (url: string) => ServiceError {
  const patterns = routes.map((route) => ({
    route,
    pattern: patternOf(route.path),
    reserved: reservedNames(route, routes),
  }));
  return (url) => {
    const [path = ''] = url.split(/[?#]/, 1);
    const last = path.slice(path.lastIndexOf('/') + 1);
    // None of ours ends with a slash; a file's path does not either.
    const here = path.endsWith('/')
      ? []
      : patterns
          .filter(({ pattern, reserved }) => pattern.test(path) && !reserved.includes(last))
          .map(({ route }) => route);
    if (here.length > 0) return wrongMethod(here);
    const remedy = path.startsWith(`${API_PREFIX}/`)
      ? `See ${API_PREFIX}/openapi.json for a list of paths. No path ends with a slash.`
      : `Use a path below ${API_PREFIX}.`;
    return new ServiceError('not_found', 'No resource exists at this path.', { remedy });
  };
}

function wrongMethod(routes: readonly Route[], reserved?: string): ServiceError {
  const taken = new Set(routes.flatMap((route) => (hasHead(route) ? ['GET', 'HEAD'] : [route.method])));
  const allow = ORDER.filter((method) => taken.has(method));
  const message =
    reserved === undefined
      ? 'This path does not support this method.'
      : `This path does not support this method: the name ${reserved} is reserved.`;
  return new ServiceError('method_not_allowed', message, { details: { allow } });
}

function patternOf(path: string): RegExp {
  const segments = path
    .replaceAll('.', '\\.')
    .replace('{path}', '.+')
    .replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${API_PREFIX}${segments}$`, 's');
}
