// Image stores of the control plane that tests of its edges work with: one image, and notes of what was asked.
import { buffer } from 'node:stream/consumers';
import type { Caller } from '../../../src/control/api/caller.ts';
import type { Images } from '../../../src/control/api/images.ts';
import type { Image, ImageSummary } from '../../../src/schema/image.ts';
import { FAKE_START } from './ports.ts';

type Note = (method: string, caller: Caller | undefined, ...args: unknown[]) => void;

const STAMP = new Date(FAKE_START).toISOString();
const DIGEST = `sha256:${'a'.repeat(64)}`;

export const FAKE_SUMMARY: ImageSummary = {
  name: 'i:latest',
  reference: 'docker.io/library/i:latest',
  digest: DIGEST,
  config_digest: DIGEST,
  platform: 'linux/amd64',
  runnable: true,
  size_bytes: 10,
  shared_bytes: 0,
  files: 1,
  source: 'registry',
  stored_at: STAMP,
  last_used_at: STAMP,
  sandboxes: 0,
  worker_id: 'local',
};
const CONFIG = { user: '', workdir: '', env: {}, entrypoint: [], cmd: [], exposed_ports: [] };
export const FAKE_IMAGE: Image = { ...FAKE_SUMMARY, layers: [DIGEST], config: CONFIG, warnings: [] };
const PULLED = { images: [{ ...FAKE_IMAGE, fetched_bytes: 5, unchanged: false }] };

export function fakeImages(note: Note): Images {
  const images = { images: [FAKE_IMAGE] };
  return {
    async list(query, caller) {
      note('images.list', caller, query);
      return { images: [FAKE_SUMMARY], unavailable: ['w2'] };
    },
    async get(query, caller) {
      note('images.get', caller, query);
      return FAKE_IMAGE;
    },
    async pull(request, caller) {
      note('images.pull', caller, request);
      return PULLED;
    },
    async watchPull(request, caller) {
      note('images.watchPull', caller, request);
      return (async function* () {
        yield { stage: 'fetch' as const, layer: 1, done_bytes: 1, total_bytes: 2, worker_id: 'local' };
        yield undefined;
        yield { stage: 'done' as const, ...PULLED };
      })();
    },
    async import(archive, query, caller) {
      const { length } = await buffer(archive);
      note('images.import', caller, query, length);
      return images;
    },
    async watchImport(archive, query, caller) {
      const { length } = await buffer(archive);
      note('images.watchImport', caller, query, length);
      return (async function* () {
        yield { stage: 'done' as const, ...images };
      })();
    },
    async tag(request, caller) {
      note('images.tag', caller, request);
      return images;
    },
    async remove(query, caller) {
      note('images.remove', caller, query);
      return { status: 'deleted', freed_bytes: 10 };
    },
    async prune(request, caller) {
      note('images.prune', caller, request);
      return { removed: [], freed_bytes: 0 };
    },
  };
}
