// Every command of every document, as written, by who would type it: each has to succeed, and to print what stands below
// it. An ordinary user in a clone, and root on a host with a systemd; neither has a container engine or a way out.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { blocksOf, isCommands, printed, type Step, stepsOf } from '../support/checks/document-blocks.ts';
import { READERS, type Reader, STAYING } from '../support/checks/document-readers.ts';
import { type Systemd, startSystemd } from '../support/hosts/systemd.ts';
import { describeWith } from '../support/requires.ts';

const MARK = '--- step';
/** For one document. */
const DEADLINE_MS = 120_000;
const AS_ANN = 'runuser -u ann -- env HOME=/home/ann XDG_RUNTIME_DIR=/run/user/1234';

/** A user of its own, and the package where npm would have put it. */
const HOST = `
  set -e
  useradd -m -u 1234 -s /bin/bash ann
  install -d -o ann /run/user/1234 /home/ann/svc /tmp/clone
  groupadd -f docker
  rm -rf /etc/svc /var/lib/svc /var/lib/svc-backups
  ln -sfn /opt/svc "$(npm root -g)/svc"
  ln -sf /opt/svc/bin/svc.js /usr/local/bin/svc
`;

/** Nothing of the document before serves. */
const ALONE = 'pkill -u ann; while pgrep -u ann >/dev/null; do sleep 0.1; done';

/** A clone as it was, whatever the document before has left in it. */
const CLONE = `
  set -e
  umount /home/ann/svc /tmp/clone 2>/dev/null || true
  mount -t tmpfs tmpfs /tmp/clone
  mkdir /tmp/clone/upper /tmp/clone/work
  mount -t overlay overlay -o lowerdir=/opt/svc,upperdir=/tmp/clone/upper,workdir=/tmp/clone/work /home/ann/svc
  chown ann /home/ann/svc
  rm -rf /home/ann/.svc
`;

describeWith(
  ['root', 'systemd', 'bwrap', 'jq', 'python3', 'openssl', 'caddy', 'busybox', 'qemu'],
  'the documents',
  () => {
    let systemd: Systemd;
    beforeAll(async () => {
      systemd = await startSystemd();
      await systemd.sure(HOST);
    });
    afterAll(() => systemd?.stop());

    it.each(READERS.map((reader) => [nameOf(reader), reader] as const))('%s', async (_, reader) => {
      const steps = stepsFor(reader);
      expect(steps.length).toBeGreaterThan(0);
      const outputs = await follow(systemd, reader, steps);
      for (const [at, { command, prints, place }] of steps.entries())
        if (prints.length > 0) expect(outputs[at], `${place} ${command}`).toMatch(printed(prints));
    });

    it('fail when a command fails or prints something else', async () => {
      const reader: Reader = { document: 'x.md', where: 'host' };
      const step = { command: 'false', prints: [], place: 'x.md:1', prompt: '$' };
      await expect(follow(systemd, reader, [step])).rejects.toThrow('x.md:1: false: exit code 1');
      const [output] = await follow(systemd, reader, [{ ...step, command: 'echo one; echo two' }]);
      expect(output).not.toMatch(printed(['one']));
      expect(output).toMatch(printed(['one', 't…']));
    });
  },
);

const nameOf = ({ document, prompt }: Reader) => (prompt ? `${document} (${prompt})` : document);

function stepsFor({ document, prompt }: Reader): Step[] {
  return blocksOf(document)
    .filter((block) => isCommands(block) && block.notRun === undefined && block.host === undefined)
    .flatMap(stepsOf)
    .filter((step) => prompt === undefined || step.prompt === prompt);
}

async function follow(
  systemd: Systemd,
  { where, before }: Reader,
  steps: readonly Step[],
): Promise<string[]> {
  await systemd.sure(ALONE);
  if (where === 'checkout') await systemd.sure(CLONE);
  if (before) await systemd.sure(`set -e\n${before}`);
  const script = [
    'set -e',
    'shopt -s expand_aliases',
    'trap "kill \\$(jobs -p) 2>/dev/null || true; wait" EXIT',
    'export PATH=/usr/local/bin:/usr/bin:/usr/sbin',
    ...steps.flatMap(({ command }, at) => [`echo '${MARK} ${at}'`, typed(command)]),
  ].join('\n');
  const place = where === 'checkout' ? '/home/ann/svc' : '/root';
  const user = where === 'checkout' ? AS_ANN : '';
  await systemd.sure(`cat >/tmp/steps <<'END_OF_THE_STEPS'\n${script}\nEND_OF_THE_STEPS`);
  const { code, stdout, stderr } = await systemd.run(
    `cd ${place} && ${user} bash /tmp/steps </dev/null`,
    DEADLINE_MS,
  );
  const outputs = stdout.split(new RegExp(`${MARK} \\d+\\n`)).slice(1);
  const last = steps[outputs.length - 1];
  if (code !== 0)
    throw new Error(`${last?.place}: ${last?.command}: exit code ${code}\n${outputs.at(-1)}${stderr}`);
  return outputs;
}

/** As typed; a program that keeps the terminal goes on in one of its own, and ends with the document. */
function typed(command: string): string {
  const staying = STAYING.find((each) => each.command.test(command));
  if (!staying) return command;
  return `${command} >"/tmp/stays-$(id -u)" 2>&1 </dev/null &
until ${staying.ready} 2>/dev/null; do kill -0 $! || { cat "/tmp/stays-$(id -u)" >&2; exit 1; }; sleep 0.2; done`;
}
