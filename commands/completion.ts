// svc completion
import { Args } from '@oclif/core';
import { COMPLETION_SCRIPTS, SHELLS, type Shell } from '../src/cli/completion-scripts.ts';
import { SvcCommand } from '../src/cli/svc-command.ts';

export default class Completion extends SvcCommand<{ script: string }> {
  static override summary = 'Print the completion script of a shell.';
  static override description =
    'Completes commands, flags and their values, and asks the server for sandbox ids, template names, providers, workers and owners; a server that takes longer than 300 ms is left out. Needs nothing but the shell: bash, zsh after compinit, or fish. `svc autocomplete` sets up PowerShell.';
  static override examples = [
    'source <(<%= config.bin %> completion bash)     # in ~/.bashrc',
    'source <(<%= config.bin %> completion zsh)      # in ~/.zshrc, after compinit',
    '<%= config.bin %> completion fish | source      # in ~/.config/fish/config.fish',
  ];
  static override args = {
    shell: Args.string({ description: 'The shell.', options: [...SHELLS], required: true }),
  };

  async run(): Promise<{ script: string }> {
    const { args } = await this.parse(Completion);
    const script = COMPLETION_SCRIPTS[args.shell as Shell];
    this.log(script);
    return { script };
  }
}
