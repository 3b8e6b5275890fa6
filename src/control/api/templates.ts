// Templates of sandboxes.
import type { Abort } from '../../domain/abort.ts';
import type { Hold } from '../../domain/byte-ledger.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type {
  Template,
  TemplateCreate,
  TemplateListQuery,
  TemplateSpawn,
  TemplateUpdate,
} from '../../schema/template.ts';
import type { Caller } from './caller.ts';

/** Under owner enforcement a name means the template of the caller, else the shared template with this name. */
export interface Templates {
  /**
   * Values of `env` are masked for callers without an admin key, here and below. The page counts against `hold`; a
   * page of large templates ends early.
   */
  list(
    query: TemplateListQuery,
    caller: Caller,
    hold: Hold,
  ): Promise<{ templates: Template[]; next_cursor?: string }>;
  get(name: string, caller: Caller): Promise<Template>;
  /** Shared when the caller names no owner; under owner enforcement only administrators may create such a template. */
  create(template: TemplateCreate, caller: Caller): Promise<Template>;
  /** Throws `precondition_failed` unless it has one of `versions`, `forbidden` for a shared template, as `delete` does. */
  update(
    name: string,
    template: TemplateUpdate,
    caller: Caller,
    options: { versions?: readonly number[] },
  ): Promise<Template>;
  delete(name: string, caller: Caller): Promise<void>;
  /** Spawns from the template, as `Sandboxes.spawn` does. */
  spawn(
    name: string,
    overrides: TemplateSpawn,
    caller: Caller,
    options: { idempotencyKey?: string },
    signal: Abort,
  ): Promise<Sandbox>;
}
