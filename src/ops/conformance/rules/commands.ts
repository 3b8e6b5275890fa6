// Commands: what they are given, what comes of them, and when they end.
import { execParts } from '../../../providers/custom/exec-answer.ts';
import { broken, mustBe, type Rule, type RuleGroup } from '../client.ts';

const MADE = ['sandboxes.spawn'];
const RUNS = [...MADE, 'commands.status'];
const AT_ONCE = 8;
const LARGE = 32 * 1024 * 1024;

/** Throws unless a command wrote exactly this. */
function mustSay(output: Buffer, expected: string | Buffer, what: string): void {
  if (!output.equals(Buffer.from(expected))) throw broken(`${what} differs from the expected output.`);
}

const rule = (name: string, title: string, look: Rule['look'], more: Partial<Rule> = {}): Rule => ({
  id: name.includes('.') ? name : `commands.${name}`,
  title,
  needs: RUNS,
  look,
  ...more,
});

const GIVEN: readonly Rule[] = [
  rule(
    'status',
    'The backend reports the exit code',
    async (client, signal) => {
      const { exit_code } = await client.sh('exit 7', signal);
      if (exit_code !== 7) throw broken(`The backend reported ${exit_code} for a command that exits with 7.`);
      return 'The exit code 7 is correct.';
    },
    { needs: MADE },
  ),
  rule('arguments', 'Arguments arrive unchanged', async (client, signal) => {
    const words = ['a b', '"$HOME"', "it's", '', '*'];
    const { stdout } = await client.run(['printf', '%s|', ...words], {}, signal);
    mustSay(stdout, words.map((word) => `${word}|`).join(''), 'The output');
    return 'No shell interprets the arguments.';
  }),
  rule('outputs', 'stdout and stderr are separate', async (client, signal) => {
    const { stdout, stderr } = await client.sh('echo out; echo err >&2', signal);
    mustSay(stdout, 'out\n', 'stdout');
    mustSay(stderr, 'err\n', 'stderr');
    return 'Both outputs are correct.';
  }),
  rule('bytes', 'Output can contain any bytes', async (client, signal) => {
    const { stdout } = await client.sh(
      "printf '\\000\\377\\303\\050'; printf '\\303'; printf '\\251'",
      signal,
    );
    mustSay(stdout, Buffer.from([0, 0xff, 0xc3, 0x28, 0xc3, 0xa9]), 'The output');
    return 'Invalid UTF-8 arrives unchanged.';
  }),
  rule('env', 'env is added to the environment', async (client, signal) => {
    const { stdout } = await client.sh('test -n "$PATH" && echo "$WORD"', signal, {
      env: { WORD: 'é "$x"' },
    });
    mustSay(stdout, 'é "$x"\n', 'The output');
    return 'The environment of the sandbox stays.';
  }),
  rule('stdin', 'Standard input arrives at the command', async (client, signal) => {
    mustSay((await client.run(['cat'], { stdin: 'é\n' }, signal)).stdout, 'é\n', 'The output of cat');
    const bytes = Buffer.from([0xff, 0, 10]);
    const { stdout } = await client.run(['cat'], { stdin_base64: bytes.toString('base64') }, signal);
    mustSay(stdout, bytes, 'The output of cat');
    return 'Text and base64 bytes arrive.';
  }),
  rule('no_stdin', 'Standard input is empty by default', async (client, signal) => {
    mustSay((await client.run(['cat'], { timeout: 10 }, signal)).stdout, '', 'The output of cat');
    return 'A command that reads it ends.';
  }),
  rule('missing', 'A missing program exits with 127', async (client, signal) => {
    const { exit_code } = await client.run(['/no/such/program'], {}, signal);
    if (exit_code !== 127) throw broken(`The backend reported the exit code ${exit_code}.`);
    return 'The exit code is 127.';
  }),
  rule(
    'workdir',
    'A missing workdir returns 400',
    async (client, signal) => {
      const reply = await client.startExec(['pwd'], { workdir: '/workspace/none' }, signal);
      await reply.discard();
      mustBe(reply.status, [400]);
      return 'Status 400.';
    },
    { optional: true },
  ),
  rule(
    'unknown',
    'An unknown sandbox returns 404 or 410',
    async (client, signal) => {
      const reply = await client.startExec(['true'], { sandbox_id: 'none-of-this-name' }, signal);
      await reply.discard();
      mustBe(reply.status, [404, 410]);
      return `Status ${reply.status}.`;
    },
    { needs: MADE },
  ),
];

const ENDS: readonly Rule[] = [
  rule(
    'course.streams',
    'Output arrives while the command runs',
    async (client, signal) => {
      const reply = await client.startExec(['/bin/sh', '-c', 'echo one; sleep 2'], {}, signal);
      let firstAt: number | undefined;
      for await (const part of execParts(reply)) if ('output' in part) firstAt ??= client.clock.monotonic();
      const between = client.clock.monotonic() - (firstAt ?? Number.POSITIVE_INFINITY);
      if (!(between > 1000)) throw broken('The output arrived only when the command ended.');
      return 'The output arrived before the end.';
    },
    { optional: true },
  ),
  rule(
    'course.large',
    'Large output arrives completely',
    async (client, signal) => {
      const { stdout } = await client.sh(`head -c ${LARGE} /dev/zero`, signal);
      if (stdout.length !== LARGE) throw broken(`Only ${stdout.length} of ${LARGE} bytes arrived.`);
      return `All ${LARGE} bytes arrived.`;
    },
    { deadlineMs: 120_000 },
  ),
  rule('course.timeout', 'The timeout ends the command and its children', async (client, signal) => {
    const began = client.clock.monotonic();
    const { timed_out } = await client.sh('sleep 60 & sleep 60', signal, { timeout: 0.5 });
    if (client.clock.monotonic() - began > 10_000) throw broken('The command ran for more than 10 s.');
    if (!timed_out) throw broken('The end does not contain timed_out.');
    return 'The end contains timed_out.';
  }),
  rule(
    'course.hang_up',
    'Closing the connection kills the command',
    async (client, signal) => {
      await ticksUntilClosed(client, signal);
      const look = () => client.get('/workspace/svc-tick', signal);
      const began = client.clock.monotonic();
      while (client.clock.monotonic() - began < client.patienceMs) {
        const before = await look();
        await client.clock.sleep(500, signal);
        if (before.equals(await look())) return 'The command stopped.';
      }
      throw broken('The command continues.');
    },
    { needs: [...RUNS, 'files.write', 'files.read'], deadlineMs: 40_000 },
  ),
  rule('course.at_once', `${AT_ONCE} commands run concurrently`, async (client, signal) => {
    const began = client.clock.monotonic();
    const one = (n: number) => client.sh(`sleep 1; echo ${n}`, signal);
    const all = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => one(n)));
    for (const [n, { stdout }] of all.entries()) mustSay(stdout, `${n}\n`, 'The output of one');
    if (client.clock.monotonic() - began > AT_ONCE * 900) throw broken('The commands waited for each other.');
    return 'Each command has its own output.';
  }),
];

/** A command that writes again and again, until its caller goes. */
async function ticksUntilClosed(client: Parameters<Rule['look']>[0], signal: AbortSignal): Promise<void> {
  const leave = new AbortController();
  const line =
    'n=0; while :; do n=$((n+1)); echo $n > svc-tick.new; mv svc-tick.new svc-tick; echo t; sleep 0.1; done';
  const either = AbortSignal.any([signal, leave.signal]);
  const reply = await client.startExec(['/bin/sh', '-c', line], { timeout: 60 }, either);
  mustBe(reply.status, [200]);
  for await (const _ of reply.body()) break;
  leave.abort();
}

export const COMMANDS: RuleGroup = { id: 'commands', title: 'Commands', chapter: 'Commands', rules: GIVEN };
export const COURSE: RuleGroup = {
  id: 'course',
  title: 'Timing and termination',
  chapter: 'Commands',
  rules: ENDS,
};
