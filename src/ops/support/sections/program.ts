// The program that makes the bundle: its version, its Node, and which variables it is given; never their values.
import type { Section } from '../sources.ts';
import { always } from '../sources.ts';

export const PROGRAM: Section = {
  id: 'program',
  title: 'Version and runtime',
  skipped: always,
  collect: async ({ programVersion, env }) => ({
    version: programVersion,
    node: process.version,
    versions: { v8: process.versions.v8, uv: process.versions.uv, openssl: process.versions.openssl },
    platform: process.platform,
    arch: process.arch,
    variables: Object.keys(env)
      .filter((name) => name.startsWith('SVC_') || name.startsWith('NODE_'))
      .sort(),
  }),
};
