// What the control plane offers of templates.
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

/** Under owner enforcement a name means the caller's own template, else the one of this name that all share. */
export interface Templates {
  /**
   * Values of `env` are masked for all but admins, here and in all that follows. Kept on `hold`; a page of large ones ends
   * early.
   */
  list(
    query: TemplateListQuery,
    caller: Caller,
    hold: Hold,
  ): Promise<{ templates: Template[]; next_cursor?: string }>;
  get(name: string, caller: Caller): Promise<Template>;
  /** Shared when the caller names no owner, which administrators alone may under owner enforcement. */
  create(template: TemplateCreate, caller: Caller): Promise<Template>;
  /** Replaces all of it; with `versions` only one of these (`precondition_failed`). A shared one: `forbidden`, as in `delete`. */
  update(
    name: string,
    template: TemplateUpdate,
    caller: Caller,
    options: { versions?: readonly number[] },
  ): Promise<Template>;
  delete(name: string, caller: Caller): Promise<void>;
  /** As `Sandboxes.spawn`. */
  spawn(
    name: string,
    overrides: TemplateSpawn,
    caller: Caller,
    options: { idempotencyKey?: string },
    signal: AbortSignal,
  ): Promise<Sandbox>;
}
