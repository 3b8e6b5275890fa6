// In a pool each sandbox is a folder beside others; callers see it as /workspace. Only names are translated here: the
// uid of the processes separates tenants.
import type { ExecSpec, SandboxFiles, SandboxIo } from '../../agent/io.ts';
import type { FileInfo } from '../../schema/file.ts';

const ALIAS = '/workspace';

/** The same sandbox, with a leading `/workspace` in paths and in the workdir standing for `home`. */
export function atHome(io: SandboxIo, home: string): SandboxIo {
  const names = homeNames(home);
  const exec = (spec: ExecSpec) =>
    spec.workdir === undefined ? spec : { ...spec, workdir: names.inside(spec.workdir) };
  return { ...io, exec: (spec, signal) => io.exec(exec(spec), signal), files: homeFiles(io.files, names) };
}

interface HomeNames {
  /** Translates a path or pattern of the caller. */
  inside(path: string): string;
  /** Translates a result back, in the form that the request used. */
  outside(path: string, requested: string): string;
}

function homeNames(home: string): HomeNames {
  const moved = (path: string, from: string, to: string) =>
    path === from || path.startsWith(`${from}/`) ? to + path.slice(from.length) : path;
  return {
    inside: (path) => moved(path, ALIAS, home),
    outside: (path, requested) =>
      moved(requested, ALIAS, home) === requested ? path : moved(path, home, ALIAS),
  };
}

function archives(
  { pack, unpack }: SandboxFiles,
  inside: HomeNames['inside'],
  shown: (info: FileInfo, requested: string) => FileInfo,
): Pick<SandboxFiles, 'pack' | 'unpack'> {
  if (!pack || !unpack) return {};
  return {
    pack: async (path, after, signal) => {
      const { info, content } = await pack(inside(path), after, signal);
      return { info: shown(info, path), content };
    },
    unpack: (path, body, signal) => unpack(inside(path), body, signal),
  };
}

/** What only an agent of ours can. */
function looks(
  { facts, listFacts, watch }: SandboxFiles,
  inside: HomeNames['inside'],
  shown: <T extends FileInfo>(info: T, requested: string) => T,
): Pick<SandboxFiles, 'facts' | 'listFacts' | 'watch'> {
  return {
    ...(facts && {
      facts: async (path, prefix, signal) => shown(await facts(inside(path), prefix, signal), path),
    }),
    ...(listFacts && {
      listFacts: async (path, options, signal, room) =>
        (await listFacts(inside(path), options, signal, room)).map((info) => shown(info, path)),
    }),
    ...(watch && { watch: (path, options, signal) => watch(inside(path), options, signal) }),
  };
}

function homeFiles(files: SandboxFiles, { inside, outside }: HomeNames): SandboxFiles {
  const shown = <T extends FileInfo>(info: T, requested: string): T => {
    const path = outside(info.path, requested);
    return { ...info, path, name: path === ALIAS ? ALIAS.slice(1) : info.name };
  };
  return {
    stat: async (path, signal) => shown(await files.stat(inside(path), signal), path),
    read: async (path, range, signal) => {
      const { info, content } = await files.read(inside(path), range, signal);
      return { info: shown(info, path), content };
    },
    write: (path, body, options, signal) => files.write(inside(path), body, options, signal),
    list: async (path, depth, signal, room) =>
      (await files.list(inside(path), depth, signal, room)).map((info) => shown(info, path)),
    glob: async (pattern, limit, signal, room) =>
      (await files.glob(inside(pattern), limit, signal, room)).map((path) => outside(path, pattern)),
    mkdir: (path, options, signal) => files.mkdir(inside(path), options, signal),
    move: (from, to, signal) => files.move(inside(from), inside(to), signal),
    chmod: (path, mode, signal) => files.chmod(inside(path), mode, signal),
    remove: (path, recursive, signal) => files.remove(inside(path), recursive, signal),
    ...archives(files, inside, shown),
    ...looks(files, inside, shown),
  };
}
