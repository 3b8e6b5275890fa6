// What the shells need to complete `svc`: a function each that asks `svc completion suggest` for the word at the cursor. Where
// it has no suggestion, the shell completes file names.

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The script has no trailing line break. */
export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_svc_completion() {
  local IFS=$'\\n'
  COMPREPLY=($(svc completion suggest -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null))
  [[ "\${COMPREPLY[*]}" == *: ]] && compopt -o nospace
  return 0
}
complete -o default -F _svc_completion svc`,
  zsh: `_svc_completion() {
  local -a suggestions
  suggestions=(\${(f)"$(svc completion suggest -- "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)"})
  if (( \${#suggestions} )); then
    if [[ "\${suggestions[1]}" == *: ]]; then compadd -S '' -- $suggestions; else compadd -- $suggestions; fi
  else
    _files
  fi
}
compdef _svc_completion svc`,
  fish: `function __svc_completion
  set -l current (commandline -ct)
  set -l before (commandline -opc)
  svc completion suggest -- $before[2..-1] "$current" 2>/dev/null </dev/null
end
complete -c svc -a '(__svc_completion)'`,
};
