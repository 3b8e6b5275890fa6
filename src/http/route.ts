// A route is data: what it takes, what it answers, which errors it has, and one line that calls the control plane.
// Validation, serialisation, the API description and the refusal of wrong methods are all derived from it.
import type { Static, TSchema } from 'typebox';
import type { ControlPlane } from '../control/api/control-plane.ts';
import type { ErrorCode } from '../schema/error.ts';
import type { KeyScope } from '../schema/key-words.ts';
import type { Answer, PiecedAnswer, PushAnswer, SocketAnswer, StreamAnswer, TextAnswer } from './answer.ts';
import type { Call } from './call.ts';
import { isKeyed, type RouteAuth } from './caller.ts';
import { type Method, operationOf, type RouteId } from './paths.ts';
import { type RouteAudit, routeAudit } from './route-audit.ts';

/** How large and of which kind a body may be: file bodies have limits of their own, `raw` ones may also be bytes; archives of images and of folders are. */
export type BodyKind = 'json' | 'json_file' | 'raw_file' | 'archive' | 'folder';

type Shape = TSchema | undefined;
type Value<S extends Shape> = S extends TSchema ? Static<S> : undefined;

export interface RouteSuccess<R extends Shape = Shape> {
  status: 101 | 200 | 201;
  description: string;
  /** The JSON body; absent where the body is a stream or text. */
  schema?: R;
  /** Media types beside (or instead of) JSON, each with the shape of what it carries where it has one. */
  other?: Record<string, { schema?: TSchema }>;
  /** Names of headers that matter, with their meaning. */
  headers?: Record<string, string>;
}

interface RouteFacts<P extends Shape, Q extends Shape, B extends Shape, R extends Shape> {
  id: RouteId;
  tag:
    | 'sandboxes'
    | 'files'
    | 'templates'
    | 'quotas'
    | 'usage'
    | 'providers'
    | 'pool'
    | 'images'
    | 'workers'
    | 'events'
    | 'admin'
    | 'system';
  auth: RouteAuth;
  /** The scope that a named key needs, where it is not what method and `auth` say (docs/keys.md). */
  scope?: KeyScope;
  summary: string;
  description?: string;
  params?: P;
  query?: Q;
  body?: B;
  bodyKind?: BodyKind;
  /** A missing body means `{}`. */
  bodyOptional?: boolean;
  /** Request headers that the operation reads: what they may be, for the description. */
  headers?: Record<string, TSchema>;
  success: RouteSuccess<R>;
  /** Beside the ones that every route can have. */
  errors: readonly ErrorCode[];
  /** Another status with a body of its own, such as not ready, or started. */
  alternative?: { status: number; description: string; schema: TSchema };
  /** An example of the request body. */
  example?: unknown;
  /**
   * The handler's answer, an object or a list of them, has no member that the schema lacks: it is written as it is, and what
   * is frozen in it once for all (json-cache.ts), which is faster for long lists.
   */
  exact?: boolean;
  /** Access-log lines at debug level: probes that come every second. */
  quiet?: boolean;
}

export type Handled<R extends Shape> =
  | Value<R>
  | Answer<unknown>
  | StreamAnswer
  | PiecedAnswer
  | TextAnswer
  | PushAnswer
  | SocketAnswer;

export interface RouteDefinition<P extends Shape, Q extends Shape, B extends Shape, R extends Shape>
  extends RouteFacts<P, Q, B, R> {
  handler(call: Call<Value<P>, Value<Q>, Value<B>>, control: ControlPlane): Handled<R> | Promise<Handled<R>>;
}

/** A route with its types forgotten: what lists of routes hold. */
export interface Route extends Omit<RouteFacts<Shape, Shape, Shape, Shape>, 'scope'> {
  /** The scope that a named key needs; undefined where no key is needed. */
  scope: KeyScope | undefined;
  method: Method;
  /** A path below the prefix, with `{name}` parameters. */
  path: string;
  /** Names a sandbox, a template or the caller's own ones, or makes one: under owner enforcement the caller must say who they are. */
  owned: boolean;
  /** Whether its calls are in the audit (route-audit.ts). */
  audited: RouteAudit;
  handler(call: Call<never, never, never>, control: ControlPlane): unknown;
}

/** Checks the handler against the route's own schemas, adds method and path. */
export function defineRoute<
  P extends Shape = undefined,
  Q extends Shape = undefined,
  B extends Shape = undefined,
  R extends Shape = undefined,
>(route: RouteDefinition<P, Q, B, R>): Route {
  const place = operationOf(route.id);
  return {
    ...(route as RouteFacts<Shape, Shape, Shape, Shape>),
    handler: route.handler,
    scope: scopeOf(route, place.method),
    ...place,
    owned: /^\/(?:sandboxes|egress\/check|events|templates|quotas\/\{|usage|owners)/.test(place.path),
    audited: routeAudit(route.id),
  };
}

/** `read` opens what changes nothing, `use` the rest. Quotas and images are written by administrators, if the configuration does not say otherwise. */
function scopeOf(
  { auth, scope }: Pick<RouteFacts<Shape, Shape, Shape, Shape>, 'auth' | 'scope'>,
  method: Method,
) {
  if (!isKeyed({ auth })) return undefined;
  if (auth === 'admin' || auth === 'quota_write' || auth === 'image_write') return 'admin';
  return scope ?? (method === 'GET' ? 'read' : 'use');
}
