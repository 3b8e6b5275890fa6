// Commands: what they are given, what comes of them, and when they end.
import { execParts } from '../../../providers/custom/exec-answer.ts';
import { broken, mustBe, type Rule, type RuleGroup } from '../rule.ts';

const MADE = ['sandboxes.spawn'];
const RUNS = [...MADE, 'commands.status'];
const AT_ONCE = 8;
const LARGE = 32 * 1024 * 1024;

/** Throws unless a command wrote exactly this. */
function mustSay(said: Buffer, expected: string | Buffer, what: string): void {
  if (!said.equals(Buffer.from(expected))) throw broken(`${what} is not what was to be written.`);
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
    'The exit code is told',
    async (client, signal) => {
      const { exit_code } = await client.sh('exit 7', signal);
      if (exit_code !== 7) throw broken(`A command that ends with 7 is said to end with ${exit_code}.`);
      return 'A command that ends with 7.';
    },
    { needs: MADE },
  ),
  rule('arguments', 'Arguments arrive as they are', async (client, signal) => {
    const words = ['a b', '"$HOME"', "it's", '', '*'];
    const { stdout } = await client.run(['printf', '%s|', ...words], {}, signal);
    mustSay(stdout, words.map((word) => `${word}|`).join(''), 'The output');
    return 'No shell looks at them.';
  }),
  rule('outputs', 'The outputs are kept apart', async (client, signal) => {
    const { stdout, stderr } = await client.sh('echo out; echo err >&2', signal);
    mustSay(stdout, 'out\n', 'stdout');
    mustSay(stderr, 'err\n', 'stderr');
    return 'stdout and stderr.';
  }),
  rule('bytes', 'Output may be any bytes', async (client, signal) => {
    const { stdout } = await client.sh(
      "printf '\\000\\377\\303\\050'; printf '\\303'; printf '\\251'",
      signal,
    );
    mustSay(stdout, Buffer.from([0, 0xff, 0xc3, 0x28, 0xc3, 0xa9]), 'The output');
    return 'Also what is no UTF-8.';
  }),
  rule('env', 'The environment is added', async (client, signal) => {
    const { stdout } = await client.sh('test -n "$PATH" && echo "$WORD"', signal, {
      env: { WORD: 'é "$x"' },
    });
    mustSay(stdout, 'é "$x"\n', 'The output');
    return 'To what the sandbox has.';
  }),
  rule('stdin', 'Standard input arrives', async (client, signal) => {
    mustSay((await client.run(['cat'], { stdin: 'é\n' }, signal)).stdout, 'é\n', 'The output of cat');
    const bytes = Buffer.from([0xff, 0, 10]);
    const { stdout } = await client.run(['cat'], { stdin_base64: bytes.toString('base64') }, signal);
    mustSay(stdout, bytes, 'The output of cat');
    return 'Text, and bytes in base64.';
  }),
  rule('no_stdin', 'Without one it is empty', async (client, signal) => {
    mustSay((await client.run(['cat'], { timeout: 10 }, signal)).stdout, '', 'The output of cat');
    return 'A program that reads ends.';
  }),
  rule('missing', 'A program that is not there ends with 127', async (client, signal) => {
    const { exit_code } = await client.run(['/no/such/program'], {}, signal);
    if (exit_code !== 127) throw broken(`It is said to end with ${exit_code}.`);
    return 'Exit code 127.';
  }),
  rule(
    'workdir',
    'A workdir that is not there is 400',
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
    'In a sandbox that is not there it is 404 or 410',
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
    'Output comes while it runs',
    async (client, signal) => {
      const reply = await client.startExec(['/bin/sh', '-c', 'echo one; sleep 2'], {}, signal);
      let saidAt: number | undefined;
      for await (const part of execParts(reply)) if ('output' in part) saidAt ??= client.clock.monotonic();
      const between = client.clock.monotonic() - (saidAt ?? Number.POSITIVE_INFINITY);
      if (!(between > 1000)) throw broken('It came only with the end.');
      return 'Before the end.';
    },
    { optional: true },
  ),
  rule(
    'course.large',
    'Large output comes whole',
    async (client, signal) => {
      const { stdout } = await client.sh(`head -c ${LARGE} /dev/zero`, signal);
      if (stdout.length !== LARGE) throw broken(`${stdout.length} of ${LARGE} bytes came.`);
      return `${LARGE} bytes.`;
    },
    { deadlineMs: 120_000 },
  ),
  rule('course.timeout', 'The timeout ends it, and all it started', async (client, signal) => {
    const began = client.clock.monotonic();
    const { timed_out } = await client.sh('sleep 60 & sleep 60', signal, { timeout: 0.5 });
    if (client.clock.monotonic() - began > 10_000) throw broken('It went on for more than 10 s.');
    if (!timed_out) throw broken('The end does not say timed_out.');
    return 'The end says timed_out.';
  }),
  rule(
    'course.hang_up',
    'It is killed when the connection closes',
    async (client, signal) => {
      await ticksUntilClosed(client, signal);
      const look = () => client.get('/workspace/svc-tick', signal);
      const began = client.clock.monotonic();
      while (client.clock.monotonic() - began < client.patienceMs) {
        const before = await look();
        await client.clock.sleep(500, signal);
        if (before.equals(await look())) return 'It no longer does anything.';
      }
      throw broken('It goes on.');
    },
    { needs: [...RUNS, 'files.write', 'files.read'], deadlineMs: 40_000 },
  ),
  rule('course.at_once', `${AT_ONCE} run at once`, async (client, signal) => {
    const began = client.clock.monotonic();
    const one = (n: number) => client.sh(`sleep 1; echo ${n}`, signal);
    const all = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => one(n)));
    for (const [n, { stdout }] of all.entries()) mustSay(stdout, `${n}\n`, 'The output of one');
    if (client.clock.monotonic() - began > AT_ONCE * 900) throw broken('They waited for each other.');
    return 'Each with its own output.';
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
export const COURSE: RuleGroup = { id: 'course', title: 'Their course', chapter: 'Commands', rules: ENDS };
