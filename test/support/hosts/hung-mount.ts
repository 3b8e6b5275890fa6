// A mount that never answers (hung-mount.py), for what the service does about folders of the configuration that hang.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface HungMount {
  /** Ends what hangs in it, and takes it away. */
  remove(): Promise<void>;
}

export async function hungMount(folder: string): Promise<HungMount> {
  const program = fileURLToPath(new URL('hung-mount.py', import.meta.url));
  const child = spawn('python3', [program, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  if (!said.toString().startsWith('mounted')) throw new Error(`the mount could not be made: ${said}`);
  return {
    remove: async () => {
      // The end of its server aborts the mount: whatever waits in it gets an error.
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      execFileSync('umount', ['--lazy', folder]);
    },
  };
}
