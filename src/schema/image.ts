// An image of the store, as commands and calls show it.
import { type Static, Type } from 'typebox';

const Texts = Type.Array(Type.String());

export const ImageConfig = Type.Object({
  user: Type.String({ description: 'Who its programs expect to be; empty is root.' }),
  workdir: Type.String(),
  env: Type.Record(Type.String(), Type.String(), { description: 'Set for every command in a sandbox.' }),
  entrypoint: Texts,
  cmd: Texts,
  exposed_ports: Texts,
});

const worker_id = Type.Optional(
  Type.String({ maxLength: 128, description: 'Worker whose store has it; absent on one machine alone.' }),
);

/** An image without what may be large. */
export const ImageSummary = Type.Object(
  {
    name: Type.String({ description: 'Name that spawns use.' }),
    reference: Type.String({ description: 'Complete name: registry, path and tag.' }),
    digest: Type.String({
      description: 'Digest of its manifest, or of its config where it has no manifest.',
    }),
    config_digest: Type.String(),
    platform: Type.String({ description: 'For example linux/amd64.' }),
    runnable: Type.Boolean({ description: 'Whether its platform is the one of this machine.' }),
    size_bytes: Type.Integer({ description: 'Bytes of its files, unpacked.' }),
    shared_bytes: Type.Integer({ description: 'Bytes in layers that other images of the store use too.' }),
    files: Type.Integer(),
    source: Type.String({
      description: 'Where it came from: registry, or oci, docker-archive or rootfs for files.',
    }),
    stored_at: Type.String({ description: 'When it got this name.' }),
    last_used_at: Type.String({ description: 'Last start of a sandbox, to the hour.' }),
    sandboxes: Type.Integer({ description: 'Sandboxes that run on it.' }),
    disk_bytes: Type.Optional(
      Type.Integer({ description: 'Bytes of its disk for virtual machines; absent before the first start.' }),
    ),
    private: Type.Optional(
      Type.Boolean({
        description: 'True if it was pulled with credentials and is for images.private_owners.',
      }),
    ),
    worker_id,
  },
  { $id: 'ImageSummary' },
);
export type ImageSummary = Static<typeof ImageSummary>;

export const Image = Type.Object(
  {
    ...ImageSummary.properties,
    layers: Type.Array(Type.String(), { description: 'Digests of its unpacked layers, the lowest first.' }),
    config: ImageConfig,
    warnings: Type.Array(Type.String(), { description: 'Contents that are left out.' }),
  },
  { $id: 'StoredImage' },
);
export type Image = Static<typeof Image>;
