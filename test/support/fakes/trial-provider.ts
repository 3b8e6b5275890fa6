// A provider whose one sandbox does what a doctor's trial wants, but for the step that is told to go wrong.
import { Readable } from 'node:stream';
import type { Exec, ExecSpec, OutputChunk, SandboxIo } from '../../../src/agent/io.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import { SERVE_ONCE } from '../../../src/ops/doctor/probe-commands.ts';
import type { ProbeReport, Provider, RuntimeListing } from '../../../src/providers/provider.ts';
import type { ProviderKind } from '../../../src/schema/provider.ts';

export type TrialFault =
  | 'start'
  | 'exec'
  | 'write'
  | 'read'
  | 'connect'
  | 'serve'
  | 'destroy'
  | 'nothing_left'
  | 'list';

export interface TrialOptions {
  kind: ProviderKind;
  report: ProbeReport;
  /** Runtimes that are there already. */
  runtimes?: RuntimeListing[];
  fault?: TrialFault | undefined;
  /** Ids of what was destroyed. */
  destroyed?: string[];
}

const broken = (what: string) =>
  new ServiceError('provider_error', `The ${what} is broken.`, { remedy: 'Mend it.' });

export function trialProvider({
  kind,
  report,
  runtimes = [],
  fault,
  destroyed = [],
}: TrialOptions): Provider {
  let present = [...runtimes];
  const check = (step: TrialFault) => {
    if (fault === step) throw broken(step);
  };
  return {
    kind,
    capabilities: ['connect'],
    describe: () => ({ isolation: {}, images: ['alpine'] }),
    ...(kind === 'container' && { refuseImage: refuseAllButAlpine }),
    probe: async () => report,
    create: async ({ id, epoch }) => {
      check('start');
      present.push({ runtime_id: id, id, epoch, state: 'running', created_at: '2026-01-01T00:00:00.000Z' });
      return { runtime_id: id, image: 'trial', memory_mb: 1, vcpus: 1, warnings: [] };
    },
    attach: async () => trialIo(fault),
    inspect: async () => 'gone',
    destroy: async ({ id }) => {
      check('destroy');
      destroyed.push(id);
      if (fault !== 'nothing_left') present = present.filter((each) => each.id !== id);
    },
    list: async () => {
      check('list');
      return present;
    },
    close: async () => {},
  };
}

function trialIo(fault: TrialFault | undefined): SandboxIo {
  let content: Uint8Array = Buffer.alloc(0);
  const io = {
    exec: (spec: ExecSpec) => trialExec(spec, fault),
    files: {
      write: async (_: string, body: Buffer) => {
        content = body;
        return { size: fault === 'write' ? 0 : body.length, atomic: true };
      },
      read: async () => ({ content: Readable.from([fault === 'read' ? 'other' : content]) }),
    },
    connect: async () => {
      if (fault === 'serve') throw broken('port');
      return Readable.from([fault === 'connect' ? 'other words' : SERVE_ONCE.answer]);
    },
    close: () => {},
  };
  return io as unknown as SandboxIo;
}

/** A shell that counts, or the program that serves: it goes on until it is killed, or ends at once with 127. */
function trialExec({ argv }: ExecSpec, fault: TrialFault | undefined): Exec {
  const serves = argv.includes(SERVE_ONCE.script);
  let end = (_: number) => {};
  const ended = new Promise<number>((resolve) => {
    end = resolve;
  });
  if (!serves) end(fault === 'exec' ? 1 : 0);
  else if (fault === 'serve') end(127);
  const output = (async function* (): AsyncGenerator<OutputChunk> {
    yield { channel: 'stdout', data: Buffer.from('42\n') };
  })();
  const exec = {
    output,
    exit: ended.then((exit_code) => ({ exit_code, timed_out: false, duration_ms: 1 })),
    kill: () => end(137),
  };
  return exec as unknown as Exec;
}

function refuseAllButAlpine(image: string): void {
  if (image !== 'alpine') throw new ServiceError('bad_request', 'The image is not allowed.');
}
