// The control API of E2B, versions 1 and 2, over the control plane (docs/e2b.md).
import type { Caller } from '../../control/api/caller.ts';
import type { ControlPlane } from '../../control/api/control-plane.ts';
import { ServiceError } from '../../domain/errors.ts';
import { hasEnded } from '../../domain/sandbox-state.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import { notOffered } from './answers.ts';
import type { ControlCall, ControlResult, ControlRoute } from './control-call.ts';
import { createSandbox, templateName, withinCeiling } from './create-sandbox.ts';
import { listSandboxes } from './list-sandboxes.ts';
import { changedPolicy } from './network-wish.ts';
import { BUILT_IN, detailView, listedView, startedView } from './sandbox-view.ts';
import { earlierSamples, sampleOf } from './usage-sample.ts';

/** Seconds that a sandbox lives without a wish, by version of the call. */
const LIFE = { v1: 15, v2: 300 };
const MOST_REFRESH = 3600;
const LOG_LINES = 1000;

const NOTHING: ControlResult = { status: 204 };

export const CONTROL_ROUTES: readonly ControlRoute[] = [
  ...creations(),
  ...lives(),
  ...views(),
  ...templateViews(),
  ...absent(),
];

function creations(): ControlRoute[] {
  const route = (id: string, path: string, seconds: number) =>
    change(id, 'POST', [path], async (call, control) => {
      const sandbox = await createSandbox(call, control, seconds);
      return { status: 201, body: startedView(sandbox, control.dataAccess, call), created: sandbox.id };
    });
  return [route('e2b.create', '/sandboxes', LIFE.v1), route('e2b.createV2', '/v2/sandboxes', LIFE.v2)];
}

/** Connect, timeout, refresh, kill. */
function lives(): ControlRoute[] {
  return [
    change(
      'e2b.connect',
      'POST',
      ['/sandboxes/:id/connect', '/v2/sandboxes/:id/connect'],
      async (call, control) => {
        const { body, caller } = call;
        const seconds = body.number('timeout') ?? LIFE.v2;
        const sandbox = await extended(control, idOf(call), { seconds, exact: false }, caller);
        return { status: 200, body: startedView(sandbox, control.dataAccess, call) };
      },
    ),
    change('e2b.resume', 'POST', ['/sandboxes/:id/resume'], async (call, control) => {
      await running(control, idOf(call), call.caller);
      throw new ServiceError('conflict', `Sandbox ${idOf(call)} is already running`);
    }),
    change('e2b.timeout', 'POST', ['/sandboxes/:id/timeout'], async (call, control) => {
      const seconds = call.body.number('timeout') ?? LIFE.v1;
      if (seconds > 0) await extended(control, idOf(call), { seconds, exact: true }, call.caller);
      else await kill(control, idOf(call), call.caller);
      return NOTHING;
    }),
    change('e2b.refresh', 'POST', ['/sandboxes/:id/refreshes'], async (call, control) => {
      const asked = Math.min(call.body.number('duration') ?? 0, MOST_REFRESH);
      const seconds = Math.max(asked, LIFE.v1);
      await extended(control, idOf(call), { seconds, exact: false }, call.caller);
      return NOTHING;
    }),
    change('e2b.network', 'PUT', ['/sandboxes/:id/network'], async (call, control) => {
      const policy = changedPolicy(call.body);
      await running(control, idOf(call), call.caller);
      await control.egress.replace(idOf(call), policy, call.caller);
      return NOTHING;
    }),
    change('e2b.kill', 'DELETE', ['/sandboxes/:id'], async (call, control) => {
      await kill(control, idOf(call), call.caller);
      return NOTHING;
    }),
  ];
}

function views(): ControlRoute[] {
  return [
    read('e2b.list', ['/sandboxes', '/v2/sandboxes'], async (call, control) => {
      const { sandboxes, next } = await listSandboxes(call, control);
      return {
        status: 200,
        body: sandboxes.map(listedView),
        ...(next !== undefined && { headers: { 'X-Next-Token': next } }),
      };
    }),
    read('e2b.get', ['/sandboxes/:id'], async (call, control) => {
      const sandbox = await running(control, idOf(call), call.caller);
      return { status: 200, body: detailView(sandbox, control.dataAccess, call) };
    }),
    read('e2b.metrics', ['/sandboxes/:id/metrics'], async (call, control) => ({
      status: 200,
      body: await metrics(call, control),
    })),
    read('e2b.logs', ['/sandboxes/:id/logs', '/v2/sandboxes/:id/logs'], async (call, control) => ({
      status: 200,
      body: { logs: await logs(call, control) },
    })),
    // There are no snapshots, so none are listed.
    read('e2b.snapshots', ['/snapshots'], async () => ({ status: 200, body: [] })),
  ];
}

function templateViews(): ControlRoute[] {
  const view = (name: string) => ({
    templateID: name,
    public: true,
    aliases: [name],
    names: [name],
    buildStatus: 'ready',
  });
  return [
    read('e2b.templates', ['/templates', '/v2/templates'], async ({ caller, hold }, { templates }) => {
      const page = await templates.list({}, caller, hold);
      const names = [...new Set([...BUILT_IN, ...page.templates.map(({ name }) => name)])];
      return { status: 200, body: names.map(view) };
    }),
    read('e2b.alias', ['/templates/aliases/:alias'], async ({ params, caller }, { templates }) => {
      const name = templateName(params.alias ?? '');
      if (!BUILT_IN.includes(name)) await templates.get(name, caller);
      return { status: 200, body: { templateID: name, public: true } };
    }),
  ];
}

/** What E2B has and this service has not: the answer says so. */
function absent(): ControlRoute[] {
  const rows: [id: string, method: ControlRoute['method'], what: string, paths: string[]][] = [
    ['e2b.pause', 'POST', 'Pausing a sandbox', ['/sandboxes/:id/pause']],
    ['e2b.fork', 'POST', 'Forking a sandbox', ['/sandboxes/:id/fork']],
    ['e2b.snapshot', 'POST', 'A snapshot of a sandbox', ['/sandboxes/:id/snapshots']],
    ['e2b.build', 'POST', 'Building a template', ['/v3/templates', '/v2/templates', '/templates']],
    ['e2b.tag', 'POST', 'A tag of a template', ['/templates/tags']],
    ['e2b.untag', 'DELETE', 'A tag of a template', ['/templates/tags']],
    ['e2b.volumes', 'GET', 'A volume', ['/volumes', '/volumes/:id']],
    ['e2b.volume', 'POST', 'A volume', ['/volumes']],
    ['e2b.secrets', 'GET', 'A secret', ['/secrets', '/secrets/:id']],
    ['e2b.secret', 'POST', 'A secret', ['/secrets', '/secrets/:id']],
  ];
  return rows.map(([id, method, what, paths]) => ({
    id,
    method,
    paths,
    scope: 'use',
    audited: 'never',
    handler: async (_call, control) => {
      control.metrics.unserved(`${method} ${paths[0]}`);
      throw notOffered(what);
    },
  }));
}

function read(id: string, paths: readonly string[], handler: ControlRoute['handler']): ControlRoute {
  return { id, method: 'GET', paths, scope: 'read', audited: 'never', handler };
}

function change(
  id: string,
  method: ControlRoute['method'],
  paths: readonly string[],
  handler: ControlRoute['handler'],
): ControlRoute {
  return { id, method, paths, scope: 'use', audited: 'frequent', handler };
}

const idOf = ({ params }: ControlCall): string => params.id ?? '';

/** Throws `not_found` for one that has ended, too. */
async function running(control: ControlPlane, id: string, caller: Caller): Promise<Sandbox> {
  const sandbox = await control.sandboxes.get(id, caller);
  if (hasEnded(sandbox.state) || sandbox.state === 'destroying') throw gone(id);
  return sandbox;
}

async function kill(control: ControlPlane, id: string, caller: Caller): Promise<void> {
  if (!(await control.sandboxes.destroy(id, caller))) throw gone(id);
}

interface NewEnd {
  seconds: number;
  exact: boolean;
}

async function extended(control: ControlPlane, id: string, { seconds, exact }: NewEnd, caller: Caller) {
  await running(control, id, caller);
  const extend = (ttl: string) => control.sandboxes.extend(id, { ttl, exact }, caller);
  const sandbox = await withinCeiling(seconds, extend);
  if (hasEnded(sandbox.state) || sandbox.state === 'destroying') throw gone(id);
  return sandbox;
}

function gone(id: string): ServiceError {
  return new ServiceError('not_found', `Sandbox ${id.slice(0, 128)} not found`);
}

/** The measurements that the server keeps of the range, oldest first, then one made now, if the range has now in it. */
async function metrics(call: ControlCall, control: ControlPlane): Promise<object[]> {
  const { query, caller, signal, hold } = call;
  const sandbox = await running(control, idOf(call), caller);
  const now = await sampleOf(control, sandbox, { caller, signal, hold });
  const [start = 0, end = Infinity] = [numberOf(query.get('start')), numberOf(query.get('end'))];
  const kept = await control.usage.sandbox(sandbox.id, {}, caller);
  return [...earlierSamples(now, kept.points), now].filter(
    ({ timestampUnix: at }) => start <= at && at <= end + 1,
  );
}

const numberOf = (text: string | null) =>
  text === null || !/^\d{1,15}$/.test(text) ? undefined : Number(text);

/** The console, as the command line of E2B reads it: the text of each line is a JSON object. */
async function logs(call: ControlCall, control: ControlPlane): Promise<object[]> {
  const { caller, signal, hold } = call;
  const sandbox = await running(control, idOf(call), caller);
  const lines = await control.logs.read(sandbox.id, LOG_LINES, caller, signal, hold);
  return lines.map((message) => ({
    timestamp: sandbox.created_at,
    level: 'info',
    message,
    fields: {},
    line: JSON.stringify({ level: 'info', logger: 'console', message }),
  }));
}
