// svc completion
import { Args } from '@oclif/core';
import { COMPLETION_SCRIPTS, SHELLS, type Shell } from '../src/cli/complete.ts';
import { SvcCommand } from '../src/cli/svc-command.ts';

export default class Completion extends SvcCommand {
  static override summary = 'Print the completion script of a shell.';
  static override description =
    'The script completes commands, flags and their values, and asks the server for sandbox ids, template names, providers, workers and owners. It waits at most 300 ms for the server. zsh needs compinit first. For PowerShell see `svc autocomplete`.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> bash >> ~/.bashrc',
    '<%= config.bin %> <%= command.id %> zsh >> ~/.zshrc',
    '<%= config.bin %> <%= command.id %> fish > ~/.config/fish/completions/svc.fish',
  ];
  static override args = {
    shell: Args.string({ description: 'The shell.', options: [...SHELLS], required: true }),
  };

  async run() {
    const { args } = await this.parse(Completion);
    const script = COMPLETION_SCRIPTS[args.shell as Shell];
    this.log(script);
    return { script };
  }
}
