// Sockets into containers, beside the engine's streams. Each container has a read-only mount of a folder of its own, in which the
// server listens while its agent is to connect, and never longer. Whether engine and server share a file system, and whether the
// runtime lets an agent connect, is found out by trying: what does not work is left for ten minutes. An image can make its own
// containers fail, for example by a file that has the name of the folder, so only what no image can cause is left for all.
import { chmod, lstat, mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { keepNewest } from '../../domain/keep-newest.ts';
import { KeyedLock } from '../../domain/keyed-lock.ts';
import { once } from '../../domain/once.ts';
import type { Clock, Logger, Random } from '../../domain/ports.ts';
import type { Host } from '../../host/host.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';
import {
  type InstanceFolders,
  instanceFolders,
  makeInstanceFolders,
  makeOwn,
} from '../local/instance-folders.ts';
import { EngineRefusal } from './engine-faults.ts';
import { type Landing, openLanding } from './landing.ts';

/** Where the container sees its folder, and the name of the socket in it. */
export const LINK_FOLDER = '/.svc-link';
export const SOCKET = 's';

const NONCE_BYTES = 16;
const AGAIN_MS = 10 * 60_000;
/** Failures in a row after which links that have worked are no longer waited for. */
const MOST_FAILURES = 3;
/** Images whose containers had no link; the oldest is forgotten. */
const MOST_IMAGES = 256;
/** sun_path is 108 bytes with its end. unix(7) */
const LONGEST_PATH = 107;
/** A folder that is younger may belong to a container that is not listed yet. */
const ORPHAN_MS = 10 * 60_000;

export interface LinkDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  config: Pick<ContainerConfig, 'link'>;
  instance: { id: string };
  host: Pick<Host, 'uid'>;
  runtimeDir?: string | undefined;
}

/** A landing in the folder that a container mounts. */
export interface Link extends Landing {
  readonly folder: string;
}

/** One attempt at a link. */
interface LinkAttempt {
  /** Id of the image. */
  image: string;
  folder: string;
}

export class Links {
  readonly #deps: LinkDeps;
  readonly #folders: InstanceFolders;
  readonly #ready;
  readonly #open = new Map<string, Link>();
  readonly #turns = new KeyedLock();
  /** Images whose containers had no link, and until when none is tried. The oldest is first. */
  readonly #images = new Map<string, number>();
  #isProven = false;
  #failures = 0;
  #offUntil = 0;

  constructor(deps: LinkDeps) {
    this.#deps = deps;
    this.#folders = instanceFolders(deps.host.uid, deps.instance.id, deps.runtimeDir);
    this.#ready = once(() => this.#makeRoot());
  }

  /** Whether agents have connected since the start of this process, and the last three have not failed to. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** What is known of links now, as new containers get them. */
  get state(): 'configured off' | 'not working' | 'not tried' | 'working' {
    if (this.#deps.config.link === 'attach') return 'configured off';
    if (this.#isProven) return 'working';
    return this.#isOff() || this.#images.size > 0 ? 'not working' : 'not tried';
  }

  /** Whether new containers have the mount, unless links do not work with their image. */
  get mounts(): boolean {
    return !this.#isOff();
  }

  /**
   * Listens for the agent of a new container of an image, by its id; undefined where links are off or do not work now, and where
   * another attempt has the folder. Never throws.
   */
  async open(name: string, image: string): Promise<Link | undefined> {
    const now = this.#deps.clock.monotonic();
    if (this.#isOff() || now < (this.#images.get(image) ?? 0)) return undefined;
    try {
      const folder = await this.#makeFolder(name);
      return folder === undefined ? undefined : await this.#listen(name, folder);
    } catch (error) {
      this.#leave('The server cannot listen in its run folder.', error);
      return undefined;
    }
  }

  /** Listens again for the agent of a container that was created with a link; undefined for any other. Never throws. */
  async reopen(name: string): Promise<Link | undefined> {
    const folder = this.#folder(name);
    const isThere = await lstat(folder).then(
      (facts) => facts.isDirectory(),
      () => false,
    );
    if (!isThere || this.#isOff()) return undefined;
    return this.#listen(name, folder).catch((error: unknown) => {
      this.#deps.logger.debug({ err: error, runtime: name }, 'Cannot listen for an agent; using the engine.');
      return undefined;
    });
  }

  /** An agent has connected. */
  worked(): void {
    this.#isProven = true;
    this.#failures = 0;
  }

  /** The agent of a container of this image did not connect. */
  failed(image: string): void {
    this.#failures += 1;
    if (this.#failures >= MOST_FAILURES) this.#isProven = false;
    this.#leaveOut(image, 'An agent cannot connect to a socket of this server.');
  }

  /** The engine does not start a container with the mount. */
  refused(error: unknown, { image, folder }: LinkAttempt): void {
    // The name of the folder is a secret, so no image can make the engine say this.
    const isAbsent =
      error instanceof EngineRefusal && error.words.includes(`bind source path does not exist: ${folder}`);
    if (isAbsent) this.#leave('The engine does not see the run folder of this server.', error);
    else this.#leaveOut(image, 'The engine cannot mount a folder of this server.', error);
  }

  /** Removes what a container had. Never throws. */
  async remove(name: string): Promise<void> {
    await this.#turns.run(name, () => this.#remove(name));
  }

  async #remove(name: string): Promise<void> {
    await this.#open.get(name)?.close();
    await rm(this.#folder(name), { recursive: true, force: true }).catch((error: unknown) => {
      this.#deps.logger.warn(
        { err: error, runtime: name },
        'Could not remove the folder of a container; the next listing tries again.',
      );
    });
  }

  /** Removes the folders of containers that are not among `names`. Never throws. */
  async sweep(names: ReadonlySet<string>): Promise<void> {
    const found = await readdir(this.#root).catch(() => []);
    for (const name of found) {
      if (names.has(name)) continue;
      const facts = await lstat(this.#folder(name)).catch(() => undefined);
      if (facts && this.#deps.clock.now() - facts.mtimeMs > ORPHAN_MS) await this.remove(name);
    }
  }

  /** Removes the folders of this instance unless a container has one, or another provider. Never throws. */
  async close(): Promise<void> {
    for (const folder of [this.#root, this.#folders.instance]) await rmdir(folder).catch(() => undefined);
  }

  get #root(): string {
    return join(this.#folders.instance, 'links');
  }

  #folder(name: string): string {
    return join(this.#root, name);
  }

  #isOff(): boolean {
    const { config, clock } = this.#deps;
    return config.link === 'attach' || clock.monotonic() < this.#offUntil;
  }

  async #makeRoot(): Promise<void> {
    const { uid } = this.#deps.host;
    await makeInstanceFolders(this.#folders, uid);
    await makeOwn(this.#root, uid, 0o700);
  }

  /** Undefined if it exists. */
  async #makeFolder(name: string): Promise<string | undefined> {
    const folder = this.#folder(name);
    const make = async () => {
      await this.#ready();
      await mkdir(folder, { mode: 0o700 });
    };
    try {
      await make().catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        // The folders above it were removed.
        this.#ready.forget();
        await make();
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
      throw error;
    }
    await chmod(folder, 0o711);
    return folder;
  }

  #listen(name: string, folder: string): Promise<Link> {
    return this.#turns.run(name, () => this.#listenNow(name, folder));
  }

  async #listenNow(name: string, folder: string): Promise<Link> {
    const { random, clock } = this.#deps;
    const path = join(folder, SOCKET);
    if (Buffer.byteLength(path) > LONGEST_PATH)
      throw new ServiceError('provider_error', 'The path of the run folder is too long for sockets.');
    await this.#open.get(name)?.close();
    const landing = await openLanding(path, random.bytes(NONCE_BYTES), clock);
    const link: Link = {
      ...landing,
      folder,
      close: async () => {
        if (this.#open.get(name) === link) this.#open.delete(name);
        await landing.close();
      },
    };
    this.#open.set(name, link);
    return link;
  }

  #leave(reason: string, err?: unknown): void {
    const { clock, logger } = this.#deps;
    const isNews = !this.#isOff();
    this.#isProven = false;
    this.#failures = 0;
    this.#offUntil = clock.monotonic() + AGAIN_MS;
    if (isNews)
      logger.info({ err }, `${reason} Sandboxes are reached through the engine; trying again in 10 minutes.`);
  }

  /** As `#leave`, for containers of one image. */
  #leaveOut(image: string, reason: string, err?: unknown): void {
    const { clock, logger } = this.#deps;
    keepNewest(this.#images, image, clock.monotonic() + AGAIN_MS, MOST_IMAGES);
    const what = 'Sandboxes of this image are reached through the engine; trying again in 10 minutes.';
    logger.info({ err, image }, `${reason} ${what}`);
  }
}
