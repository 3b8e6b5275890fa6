// From one handle of a detached command to the next: whatever the order in which the two are heard, the last words of the
// command are kept, and nothing comes twice.
import type { CommandHandle, Sandbox } from 'e2b';
import { beforeEach, describe, expect, it } from 'vitest';
import { listenerTo, streamOf } from '../../../../src/providers/hosted/command-stream.ts';
import { exitOf } from '../../../../src/providers/hosted/exit.ts';
import { OutputTail } from '../../../../src/providers/hosted/output-tail.ts';
import { followToEnd } from '../../../../src/providers/hosted/stream-handover.ts';
import { type FakeClock, fakeClock } from '../../../support/fakes/ports.ts';
import { type Heard, ScriptedHandle } from '../../../support/scripted/handle.ts';

const PID = 100;
const MUCH = 'x'.repeat(1024 * 1024 + 1);
/** What the command says after so much that another handle is asked for. */
const SAID = ['1', '2', '3'];

type Step = 'there' | 'none' | 'end' | 'break' | string;

/** One command, the handle that it is followed by, and the one that is asked for. */
class Course {
  readonly clock: FakeClock = fakeClock();
  readonly tail = new OutputTail(256 * 1024);
  readonly old: ScriptedHandle;
  next: ScriptedHandle | undefined;
  readonly said: Promise<unknown>;
  #answer: { resolve(handle: ScriptedHandle): void; reject(error: Error): void } | undefined;
  #hears: Heard | undefined;

  constructor() {
    const ears = listenerTo(this.tail);
    this.old = new ScriptedHandle(PID, ears.callbacks);
    const connect = (_: number, heard: Heard) => {
      this.#hears = heard;
      return new Promise((resolve, reject) => {
        this.#answer = { resolve, reject };
      });
    };
    const sandbox = { commands: { connect } } as unknown as Sandbox;
    const line = streamOf(this.old as unknown as CommandHandle, ears);
    this.said = followToEnd({ sandbox, clock: this.clock, pid: PID, tail: this.tail }, line);
    this.old.heard.onStdout(MUCH);
  }

  ofOld(step: Step): void {
    if (!this.old.isLeft) say(this.old, step);
  }

  ofNext(step: Step): void {
    if (step === 'none') this.#answer?.reject(new Error('none'));
    else if (step === 'there' && this.#hears) {
      this.next = new ScriptedHandle(PID, this.#hears);
      this.#answer?.resolve(this.next);
    } else if (this.next?.isLeft === false) say(this.next, step);
  }

  /** What was told after so much, and how it ended. */
  async heard(): Promise<{ words: string; exit: unknown }> {
    const exit = exitOf(await this.said)?.exit_code;
    return { words: await this.told(), exit };
  }

  async told(): Promise<string> {
    let text = '';
    for await (const { data } of this.tail.read(false, new AbortController().signal)) text += data.toString();
    return text.replace(/^x+/, '');
  }
}

function say(handle: ScriptedHandle, step: Step): void {
  if (step === 'end') handle.ends({ exitCode: 7 });
  else if (step === 'break') handle.breaks();
  else handle.heard.onStdout(step);
}

async function settle(): Promise<void> {
  for (let turns = 0; turns < 4; turns++) await new Promise((resolve) => setImmediate(resolve));
}

type Side = 'ofOld' | 'ofNext';

/** Every order of two sequences, each in its own. */
function orders(old: Step[], next: Step[]): [Side, Step][][] {
  const [firstOld, ...laterOld] = old;
  const [firstNext, ...laterNext] = next;
  if (firstOld === undefined) return [next.map((step) => ['ofNext', step])];
  if (firstNext === undefined) return [old.map((step) => ['ofOld', step])];
  return [
    ...orders(laterOld, next).map((rest): [Side, Step][] => [['ofOld', firstOld], ...rest]),
    ...orders(old, laterNext).map((rest): [Side, Step][] => [['ofNext', firstNext], ...rest]),
  ];
}

async function played(order: [Side, Step][], settles: boolean): Promise<Course> {
  const course = new Course();
  await settle();
  for (const [side, step] of order) {
    course[side](step);
    if (settles) await settle();
  }
  return course;
}

describe('two handles of one command', () => {
  const whole: Step[] = [...SAID, 'end'];
  const from = (at: number): Step[] => ['there', ...SAID.slice(at), 'end'];

  /** What the old one says, what the next one says, and what is told at least. */
  const cases: [string, Step[], Step[], string][] = [
    ...SAID.map((_, at): [string, Step[], Step[], string] => [
      `the next one hears from piece ${at + 1} on`,
      whole,
      from(at),
      SAID.slice(at).join(''),
    ]),
    ['the next one hears the end alone', whole, from(3), '123'],
    ['there is no next one', whole, ['none'], '123'],
    ['the next one comes too late and ends without a word', whole, ['there', 'break'], '123'],
    ['the old one is broken off', ['1', 'break'], from(1), '23'],
    ['the old one is broken off, and nothing follows', ['1', '2', '3', 'break'], from(3), '123'],
  ];

  it.each(cases)('report the end, and no output twice, where %s', async (_, old, next, least) => {
    for (const order of orders(old, next))
      for (const settles of [true, false]) {
        const { words, exit } = await (await played(order, settles)).heard();
        const at = JSON.stringify(order);
        expect(words, at).toMatch(/^1?2?3$/);
        expect(words.slice(-least.length), at).toBe(least);
        expect(exit, at).toBe(7);
      }
  });

  describe('with time', () => {
    let course: Course;
    beforeEach(async () => {
      course = await played([['ofNext', 'there']], true);
    });

    it('show output that only the old one has after about a second', async () => {
      course.ofOld('1');
      await course.clock.advance(900);
      expect(await course.told()).toBe('');
      await course.clock.advance(200);
      expect(await course.told()).toBe('1');
      course.ofOld('2');
      course.ofNext('2');
      await settle();
      expect([course.old.isLeft, course.next?.isLeft]).toEqual([true, false]);
      course.ofNext('end');
      expect(await course.heard()).toEqual({ words: '12', exit: 7 });
      expect(course.clock.pending()).toBe(0);
    });

    it('do not repeat output that the next one has a little later', async () => {
      for (const word of SAID) {
        course.ofOld(word);
        await course.clock.advance(900);
        course.ofNext(word);
      }
      course.ofNext('end');
      expect(await course.heard()).toEqual({ words: '123', exit: 7 });
    });

    it('report the end though the old one never does', async () => {
      course.ofOld('1');
      course.ofNext('end');
      await settle();
      await course.clock.advance(30_000);
      course.ofOld('2');
      await course.clock.advance(30_000);
      expect(await course.heard()).toEqual({ words: '12', exit: 7 });
      expect([course.old.isLeft, course.clock.pending()]).toEqual([true, 0]);
    });

    it('continue with the old one when the next one stays silent', async () => {
      for (let second = 0; second < 31; second++) {
        course.ofOld(second === 0 ? '1' : '.');
        await course.clock.advance(1000);
      }
      await settle();
      expect(await course.told()).toMatch(/^1\.+$/);
      expect([course.old.isLeft, course.next?.isLeft]).toEqual([false, true]);
      course.ofOld('end');
      expect((await course.heard()).exit).toBe(7);
      expect(course.clock.pending()).toBe(0);
    });

    it('hold no more output than the service keeps', async () => {
      for (let at = 0; at < 40; at++) course.ofOld(`${at}`.padEnd(16 * 1024, '.'));
      course.ofOld('end');
      const { words } = await course.heard();
      expect([words.length, words.startsWith('24.')]).toEqual([256 * 1024, true]);
    });
  });
});
