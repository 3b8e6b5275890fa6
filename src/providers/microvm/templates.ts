// The templates of one instance: made once for many callers, given up when they no longer fit, never waited for twice
// when they cannot be made.
import { rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { withinDeadline } from '../deadline.ts';
import { once } from '../userspace/state.ts';
import { clear } from './destroy.ts';
import { fileIdentity } from './identity.ts';
import { type Making, networkOf } from './launch.ts';
import { isTemplateRun, runtimeNames } from './places.ts';
import type { MicrovmState } from './state.ts';
import { readTemplate, recordPath, type Template, type TemplateFacts, templateKey } from './template.ts';
import { pruneTemplates, wholeTemplates } from './template-prune.ts';
import { saveTemplate } from './template-save.ts';

const SAVE_MS = 120_000;
/** After a failure guests are booted for this long before another try. */
const PAUSE_MS = 60_000;

export interface Templates {
  /** The one that fits, made when there is none; undefined, and the reason logged, when it cannot be. Rejects on abort. */
  ready(making: Making, signal: AbortSignal): Promise<Template | undefined>;
  /** A guest could not be started from it. It is removed and not made again for a while; guests that use it go on. */
  giveUp(template: Template, error: unknown): Promise<void>;
  list(): Promise<Template[]>;
}

export function templateSource(deps: () => MicrovmState): Templates {
  return new InstanceTemplates(deps);
}

class InstanceTemplates implements Templates {
  readonly #deps: () => MicrovmState;
  readonly #making = new Map<string, Promise<Template | undefined>>();
  readonly #pausedUntil = new Map<string, number>();
  readonly #tidy: () => Promise<void>;

  constructor(deps: () => MicrovmState) {
    this.#deps = deps;
    this.#tidy = once(() => endUnfinished(deps()));
  }

  async ready(making: Making, signal: AbortSignal): Promise<Template | undefined> {
    const state = this.#deps();
    const facts = await factsOf(state, making);
    const key = templateKey(facts);
    if ((this.#pausedUntil.get(key) ?? 0) > state.clock.monotonic()) return undefined;
    const finding =
      this.#making.get(key) ?? this.#find(making, facts).finally(() => this.#making.delete(key));
    this.#making.set(key, finding);
    const template = await orAborted(finding, signal);
    if (template) await touch(state, template);
    return template;
  }

  async giveUp(template: Template, error: unknown): Promise<void> {
    this.#pause(template.key, error);
    await rm(template.folder, { recursive: true, force: true });
  }

  list(): Promise<Template[]> {
    return wholeTemplates(this.#deps().places);
  }

  /** Never rejects. */
  async #find(making: Making, facts: TemplateFacts): Promise<Template | undefined> {
    const state = this.#deps();
    const key = templateKey(facts);
    const folder = join(state.places.templates, key);
    try {
      await this.#tidy();
      const there = await readTemplate(folder);
      if (there) return there;
      if (await state.host.stat(folder))
        state.logger.warn({ template: key }, 'a template is not what was saved: it is made again');
      const made = await saved(state, { making, facts, folder });
      await pruneTemplates(state.places, made, (name) => this.#making.has(name));
      return made;
    } catch (error) {
      this.#pause(key, error);
      return undefined;
    }
  }

  #pause(key: string, error: unknown): void {
    const { clock, logger } = this.#deps();
    this.#pausedUntil.set(key, clock.monotonic() + PAUSE_MS);
    logger.warn({ err: error, template: key }, 'no template: virtual machines are booted instead');
  }
}

async function factsOf(
  state: MicrovmState,
  { image, machinery, shape, spec }: Making,
): Promise<TemplateFacts> {
  const { kernel, initramfs, monitor, accelerator } = machinery;
  return {
    image: image.name,
    image_identity: (await fileIdentity(image.path)) ?? '',
    kernel: kernel.version,
    kernel_digest: kernel.digest,
    initramfs_digest: initramfs.digest,
    monitor: monitor.version,
    accelerator: accelerator.kind,
    boot_id: state.host.bootId,
    memory_mb: shape.memory_mb,
    vcpus: shape.vcpus,
    network: networkOf(state, spec),
    role: spec.role ?? 'sandbox',
    overlay_mb: state.config.overlay_mb,
  };
}

/** For all who wait: the end of one of them does not end it. */
function saved(
  state: MicrovmState,
  order: { making: Making; facts: TemplateFacts; folder: string },
): Promise<Template> {
  const expired = new ServiceError('timeout', 'A virtual machine could not be saved in time.');
  const bounds = { ms: SAVE_MS, expired, signal: new AbortController().signal };
  return withinDeadline(state.clock, bounds, (signal) => saveTemplate(state, order, signal));
}

/** Guests that ran to be saved when their server ended. */
async function endUnfinished(state: MicrovmState): Promise<void> {
  const names = await runtimeNames(state.places);
  for (const name of names.filter(isTemplateRun)) await clear(state, name);
}

/** Last used now. */
async function touch({ clock }: MicrovmState, { folder }: Template): Promise<void> {
  const now = clock.now() / 1000;
  await utimes(recordPath(folder), now, now).catch(() => undefined);
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
