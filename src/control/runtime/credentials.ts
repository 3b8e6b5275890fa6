// Credentials of this server: sealed in the store, opened here, and handed to the gates of sandboxes that may use them.
import { checkCredential, type EgressCredential, egressCredential } from '../../domain/egress/credential.ts';
import { placeholderOf } from '../../domain/egress/policy-view.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { LiveConfig } from '../../domain/live-config.ts';
import { MASKED } from '../../domain/masked.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { Seal } from '../../domain/seal.ts';
import type { EgressConfig } from '../../schema/config-egress.ts';
import type { CredentialFacts, CredentialPut, PolicyCredential } from '../../schema/credential.ts';
import type { EgressPolicy, SandboxEgress } from '../../schema/egress.ts';
import type { SecretRecord, SecretStore } from '../../store/seam/secrets.ts';
import type { SignalStore } from '../../store/seam/signals.ts';

const PREFIX = 'credential/';
const INLINE = 'inline credential';
const MOST = 1000;
const EVERYBODY = '*';

export interface CredentialsDeps {
  secrets: Pick<SecretStore, 'put' | 'remove' | 'list'>;
  signals: SignalStore;
  /** Those of the configuration stand before stored ones of the same name. */
  config: LiveConfig<{ egress: Pick<EgressConfig, 'credentials' | 'credential_terms'> }>;
  /** Throws `not_implemented` where there is no key. */
  seal(): Promise<Seal>;
  /** Masks a text in all output from now on, until the returned function is called. */
  conceal(secret: string): () => void;
  clock: Clock;
  logger: Logger;
}

/** One as it is kept in memory; without `value` it cannot be opened. */
export interface KnownCredential {
  readonly name: string;
  readonly facts: CredentialFacts;
  readonly source: 'stored' | 'configuration';
  readonly created_at: string;
  readonly updated_at: string;
  readonly value?: string;
}

type Wish = Pick<SandboxEgress, 'template' | 'spawn'>;

/** Read from the store when they are first needed, and again when they changed. */
export class Credentials {
  readonly #deps: CredentialsDeps;
  readonly #listeners = new Set<() => void>();
  #known: Promise<ReadonlyMap<string, KnownCredential>> | undefined;
  readonly #concealed = new Map<string, () => void>();
  /** Since when those of the configuration are as they are. */
  #configuredAt: string;

  constructor(deps: CredentialsDeps) {
    this.#deps = deps;
    this.#configuredAt = this.#now();
    deps.signals.on('secrets', () => this.#changed());
    deps.config.onChange(({ egress }, previous) => {
      if (egress === previous.egress) return;
      this.#configuredAt = this.#now();
      this.#changed();
    });
  }

  /** Calls `listener` after each change, also by another process. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Lists all of them as the store has them now, sorted by name. */
  async list(): Promise<KnownCredential[]> {
    this.#known = undefined;
    return [...(await this.#all()).values()];
  }

  /**
   * Throws `bad_request` for what cannot be used, `conflict` for a name of the configuration, `resource_limit` for more than 1,000,
   * `not_implemented` without a key.
   */
  async put(name: string, { value, ...facts }: CredentialPut): Promise<KnownCredential> {
    this.#refuseConfigured(name);
    refuseMask(value);
    checkCredential(facts);
    const { secrets, signals } = this.#deps;
    const sealed = (await this.#deps.seal()).seal(value, PREFIX + name);
    this.#conceal(value);
    const at = this.#now();
    const stored = await secrets.put(
      { name: PREFIX + name, facts, sealed, created_at: at, updated_at: at },
      MOST,
    );
    if (!stored)
      throw new ServiceError('resource_limit', `There are ${MOST} credentials already.`, {
        remedy: 'Remove one that is not used.',
      });
    this.#changed();
    signals.send('secrets', name);
    const { created_at, updated_at } = stored;
    return { name, facts, source: 'stored', created_at, updated_at, value };
  }

  /** Whether there was one. Throws `conflict` for a name of the configuration. */
  async remove(name: string): Promise<boolean> {
    this.#refuseConfigured(name);
    const isKnown = (await this.#all()).has(name);
    await this.#deps.secrets.remove(PREFIX + name);
    this.#changed();
    this.#deps.signals.send('secrets', name);
    return isKnown;
  }

  /**
   * The policy as it is stored: values of its own credentials are sealed. Throws `bad_request` for a credential that `user`
   * may not use, that is named twice or that cannot be used, `not_implemented` without a key.
   */
  async sealed(policy: EgressPolicy, user?: { owner_id: string | undefined }): Promise<EgressPolicy> {
    const { credentials } = policy;
    if (credentials === undefined || credentials.length === 0) return policy;
    refuseTwice(credentials);
    const known = await (user ? this.#allFor(user.owner_id, credentials) : this.#all());
    const stored: PolicyCredential[] = [];
    for (const each of credentials) {
      if (typeof each === 'string') {
        if (user) requireServed(known.get(each), each, user.owner_id);
      } else {
        refuseMask(each.value);
        checkCredential(each);
      }
      stored.push(
        typeof each === 'string'
          ? each
          : { ...each, value: (await this.#deps.seal()).seal(each.value, INLINE) },
      );
    }
    return { ...policy, credentials: stored };
  }

  /**
   * The policies of a spawn as they are stored, with the variables that commands get. Throws as `sealed` does, also for names in
   * the template's policy.
   */
  async wish(wish: Wish, owner_id: string | undefined): Promise<{ wish: Wish; env: Record<string, string> }> {
    const { template, spawn } = wish;
    const known = await this.#allFor(owner_id, template?.credentials);
    for (const each of template?.credentials ?? [])
      if (typeof each === 'string') requireServed(known.get(each), each, owner_id);
    const sealed = spawn && (await this.sealed(spawn, { owner_id }));
    return { wish: { ...wish, ...(sealed && { spawn: sealed }) }, env: await this.env(wish) };
  }

  /** The variables with placeholders that commands get, whoever may use the credentials. */
  async env({ template, spawn }: Wish): Promise<Record<string, string>> {
    const known = await this.#all();
    const used = [template, spawn].flatMap((policy) => policy?.credentials ?? []);
    const env = used.flatMap((each): [string, string][] => {
      const name = typeof each === 'string' ? each : each.name;
      const variable = typeof each === 'string' ? known.get(each)?.facts.env : each.env;
      return variable === undefined ? [] : [[variable, placeholderOf(name)]];
    });
    return Object.fromEntries(env);
  }

  /** What stored policies may use now, those of later ones first. One that cannot be opened is left out, with a line in the log. */
  async of(policies: readonly EgressPolicy[], owner_id: string | undefined): Promise<EgressCredential[]> {
    const wanted = policies.flatMap(({ credentials = [] }) => credentials).reverse();
    if (wanted.length === 0) return [];
    const known = await this.#all();
    const found: EgressCredential[] = [];
    for (const each of wanted) {
      const credential =
        typeof each === 'string' ? stored(known.get(each), owner_id) : await this.#inline(each);
      if (credential && !found.some(({ name }) => name === credential.name)) found.push(credential);
    }
    return found;
  }

  async #inline(each: Exclude<PolicyCredential, string>): Promise<EgressCredential | undefined> {
    const { name, value, ...facts } = each;
    try {
      return egressCredential(name, facts, (await this.#deps.seal()).open(value, INLINE));
    } catch (err) {
      this.#deps.logger.warn(
        { credential: name, err },
        'Could not open the credential of a sandbox; it is not used.',
      );
      return undefined;
    }
  }

  #changed(): void {
    this.#known = undefined;
    for (const listener of this.#listeners) listener();
  }

  #all(): Promise<ReadonlyMap<string, KnownCredential>> {
    const reading = this.#known ?? this.#read();
    this.#known = reading;
    reading.catch(() => {
      if (this.#known === reading) this.#known = undefined;
    });
    return reading;
  }

  /** Reads again for one that does not serve the owner: another server may have stored it so a moment ago. */
  async #allFor(owner: string | undefined, used: EgressPolicy['credentials'] = []) {
    const known = await this.#all();
    const isServed = (name: string) => serves(known.get(name), owner);
    if (used.some((each) => typeof each === 'string' && !isServed(each))) this.#known = undefined;
    return this.#all();
  }

  async #read(): Promise<ReadonlyMap<string, KnownCredential>> {
    const records = await this.#deps.secrets.list('credential');
    const known = await Promise.all(records.map((record) => this.#opened(record)));
    const all = new Map([...known, ...this.#configured()].map((each) => [each.name, each]));
    for (const value of new Set([...all.values()].flatMap((each) => each.value ?? []))) this.#conceal(value);
    return new Map([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #configured(): KnownCredential[] {
    const { credentials = {}, credential_terms } = this.#deps.config.current().egress;
    const at = {
      source: 'configuration' as const,
      created_at: this.#configuredAt,
      updated_at: this.#configuredAt,
    };
    return Object.entries(credential_terms).flatMap(([name, facts]) => {
      const value = credentials[name];
      return value === undefined ? [] : [{ name, facts, value, ...at }];
    });
  }

  #refuseConfigured(name: string): void {
    if (!Object.hasOwn(this.#deps.config.current().egress.credential_terms, name)) return;
    throw new ServiceError('conflict', `The credential ${name} is in the configuration.`, {
      remedy: 'Change egress.credentials and egress.credential_terms, and reload the configuration.',
    });
  }

  readonly #now = () => new Date(this.#deps.clock.now()).toISOString();

  async #opened(record: SecretRecord): Promise<KnownCredential> {
    const { name: stored, facts, sealed, created_at, updated_at } = record;
    const name = stored.slice(PREFIX.length);
    const source = 'stored' as const;
    const known = { name, facts: facts as unknown as CredentialFacts, source, created_at, updated_at };
    try {
      return { ...known, value: (await this.#deps.seal()).open(sealed, stored) };
    } catch (err) {
      this.#deps.logger.warn(
        { credential: name, err },
        'Could not open a credential; it is not used. Set it again.',
      );
      return known;
    }
  }

  /** Values that were replaced stay masked: calls in flight may still carry them. */
  #conceal(value: string): void {
    if (!this.#concealed.has(value)) this.#concealed.set(value, this.#deps.conceal(value));
  }
}

function stored(
  known: KnownCredential | undefined,
  owner_id: string | undefined,
): EgressCredential | undefined {
  if (known?.value === undefined || !serves(known, owner_id)) return undefined;
  return egressCredential(known.name, known.facts, known.value);
}

function serves(known: KnownCredential | undefined, owner_id: string | undefined): boolean {
  const owners = known?.facts.owners ?? [];
  return owners.includes(EVERYBODY) || (owner_id !== undefined && owners.includes(owner_id));
}

/** One answer for both: names of others' credentials are not shown. */
function requireServed(known: KnownCredential | undefined, name: string, owner_id: string | undefined): void {
  if (serves(known, owner_id)) return;
  throw new ServiceError('bad_request', `There is no credential ${name} for this owner.`, {
    remedy: 'Ask an administrator to set it with this owner in owners.',
  });
}

function refuseTwice(credentials: readonly PolicyCredential[]): void {
  const names = credentials.map((each) => (typeof each === 'string' ? each : each.name));
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new ServiceError('bad_request', `The policy names the credential ${twice} twice.`, {
      remedy: 'Remove one of them.',
    });
}

function refuseMask(value: string): void {
  if (value === MASKED)
    throw new ServiceError('bad_request', 'The value of a credential is masked.', {
      remedy: 'Send the value itself.',
    });
}
