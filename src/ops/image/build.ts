// `svc image build`: makes a file system that guests boot from a container image, a tar or a folder. Interrupted at any
// moment, the name leads to the previous image or to the complete new one.
import { chmod, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { changeInodes, checkFileSystem, makeFileSystem, sizeFor } from '../../images/disk/file-system.ts';
import { diskFull, findTools, type Tools, tooLarge } from '../../images/disk/tools.ts';
import { freshFolder } from '../../providers/microvm/cached.ts';
import { installImage, makeImagesFolder, parseImageName } from '../../providers/microvm/images.ts';
import type { ImageBuildReport } from '../../schema/image-report.ts';
import { hashFile } from '../db/copy-file.ts';
import { requireSpace } from '../db/space.ts';
import { type BuildDeps, type ImageBuild, type ImageSource, limitOf, type Making, stage } from './stage.ts';

const BLOCK = 4096;

/**
 * Throws `bad_request` (name, source), `unavailable` (a missing program, an engine), `resource_limit` (contents, disk),
 * `forbidden` (files that may not be read), `provider_error`, system errors of the source, and the signal's reason.
 */
export async function buildImage(build: ImageBuild, deps: BuildDeps): Promise<ImageBuildReport> {
  const started = deps.clock.monotonic();
  parseImageName(build.name);
  const tools = await findTools(deps.host);
  const folder = await makeImagesFolder(deps.dataFolder);
  const work = await freshFolder(folder);
  try {
    const report = await make({ build, deps, work }, tools);
    return { ...report, duration_ms: Math.round(deps.clock.monotonic() - started) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === 'ENOSPC' || code === 'EDQUOT' ? diskFull(error) : error;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function make(making: Making, tools: Tools): Promise<Omit<ImageBuildReport, 'duration_ms'>> {
  const { build, deps, work } = making;
  const { signal, onStage } = build;
  onStage?.('read');
  const { from, script, contents, warnings } = await stage(making);
  const size = build.size ?? sizeFor(contents);
  if (size > limitOf(build)) throw tooLarge();
  requireSpace(work, contents.blocks * BLOCK);
  onStage?.('make');
  const image = join(work, 'image');
  await makeFileSystem(tools, { image, from, contents, size, signal });
  await changeInodes(tools, { image, script, folder: work, signal });
  onStage?.('check');
  await checkFileSystem(tools, image, signal);
  onStage?.('hash');
  const { sha256: digest, bytes } = await hashFile(image, { signal });
  onStage?.('install');
  await settle(image);
  const record = {
    name: build.name,
    digest,
    size_bytes: bytes,
    source: wordsFor(build.source),
    created_at: new Date(deps.clock.now()).toISOString(),
  };
  await installImage(deps.dataFolder, image, record);
  return { ...record, files: contents.files, content_bytes: contents.bytes, warnings };
}

/** On the disk, and for nobody to write, before it gets its name. */
async function settle(image: string): Promise<void> {
  await chmod(image, 0o444);
  const file = await open(image, 'r');
  await file.sync().finally(() => file.close());
}

function wordsFor(source: ImageSource): string {
  return source.kind === 'container' ? `container ${source.reference}` : `${source.kind} ${source.path}`;
}
