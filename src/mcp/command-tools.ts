// Tools that run commands in a sandbox.
import { Type } from 'typebox';
import { CommandOutput, recordResult } from './output.ts';
import { environment, sandboxId } from './sandbox-tools.ts';
import { defineTool, type Tool } from './tool.ts';

const TIMEOUT = '60s';

const command = Type.String({ minLength: 1, description: 'Command line, run by sh -c.' });
const workdir = Type.Optional(
  Type.String({ description: 'Absolute path of the folder to run in; /workspace without it.' }),
);
const execId = Type.String({ minLength: 1, maxLength: 128, description: 'The id that start_command gave.' });

const run = defineTool({
  name: 'run_command',
  title: 'Run a command',
  description:
    'Run a command and wait for its end. Gives exit code, stdout and stderr; long output is cut in the middle. A command that exits with another code than 0 is a result, not an error.',
  input: Type.Object({
    sandbox_id: sandboxId,
    command,
    workdir,
    timeout: Type.Optional(
      Type.String({ description: `The command is killed after this duration; ${TIMEOUT} without it.` }),
    ),
    env: environment,
    stdin: Type.Optional(Type.String({ description: 'Text for standard input.' })),
  }),
  hints: { destructiveHint: true, openWorldHint: true },
  run: async ({ sandbox_id, ...request }, call) => {
    const id = await call.session.sandbox(sandbox_id, call);
    const output = new CommandOutput();
    const lines = call.client.execStream(id, { timeout: TIMEOUT, ...request }, { signal: call.signal });
    for await (const line of lines) output.take(line);
    return output.result({ sandbox_id: id });
  },
});

const start = defineTool({
  name: 'start_command',
  title: 'Start a command',
  description:
    'Start a command in the background, such as a server. read_output shows its output, stop_command ends it.',
  input: Type.Object({ sandbox_id: sandboxId, command, workdir, env: environment }),
  hints: { destructiveHint: true, openWorldHint: true },
  run: async ({ sandbox_id, ...request }, call) => {
    const id = await call.session.sandbox(sandbox_id, call);
    const exec_id = await call.client.execs.detach(id, request, { signal: call.signal });
    return recordResult({ sandbox_id: id, exec_id, state: 'running' });
  },
});

const read = defineTool({
  name: 'read_output',
  title: 'Read the output of a started command',
  description: 'Show the output so far of a command that start_command began, and its exit code if it ended.',
  input: Type.Object({ sandbox_id: sandboxId, exec_id: execId }),
  hints: { readOnlyHint: true },
  run: async ({ sandbox_id, exec_id }, call) => {
    const id = await call.session.sandbox(sandbox_id, call);
    const output = new CommandOutput();
    const terms = { signal: call.signal };
    for await (const line of call.client.execs.output(id, exec_id, { follow: false }, terms))
      output.take(line);
    return output.result({ sandbox_id: id, exec_id });
  },
});

const stop = defineTool({
  name: 'stop_command',
  title: 'Stop a started command',
  description: 'Send a signal to a command that start_command began; SIGTERM unless another is named.',
  input: Type.Object({
    sandbox_id: sandboxId,
    exec_id: execId,
    signal: Type.Optional(Type.String({ description: 'A signal name such as SIGKILL.' })),
  }),
  hints: { destructiveHint: true },
  run: async ({ sandbox_id, exec_id, signal = 'SIGTERM' }, call) => {
    const id = await call.session.sandbox(sandbox_id, call);
    await call.client.execs.signal(id, exec_id, signal, { signal: call.signal });
    return recordResult({ sandbox_id: id, exec_id, sent: signal });
  },
});

export const COMMAND_TOOLS: readonly Tool[] = [run, start, read, stop];
