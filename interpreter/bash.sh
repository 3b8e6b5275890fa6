# Runs one piece of code after the other in one shell. Requests come as JSON lines on descriptor 3; python3 reads them.
# An interrupt stops the program that runs, not the shell.
trap : INT
export -n SVC_MARK SVC_PYTHON
while IFS= read -r __svc_line <&3; do
  eval "$(printf '%s' "$__svc_line" | "$SVC_PYTHON" -c '
import json, shlex, sys
request = json.load(sys.stdin)
given = request["environment"]
names = " ".join(given)
print("__svc_code=" + shlex.quote(request["code"]))
print("__svc_names=" + shlex.quote(names))
print("declare -A __svc_before=()")
for name, value in given.items():
    print(f"[ -z \"${{{name}+x}}\" ] || __svc_before[{name}]=${name}")
    print("export " + name + "=" + shlex.quote(value))
')"
  eval "$__svc_code" 3<&- 4>&-
  for __svc_name in $__svc_names; do
    if [ -n "${__svc_before[$__svc_name]+x}" ]; then
      export "$__svc_name=${__svc_before[$__svc_name]}"
    else
      unset "$__svc_name"
    fi
  done
  printf '\0%s\0' "$SVC_MARK"
  printf '\0%s\0' "$SVC_MARK" >&2
  echo '{"type":"end"}' >&4
done
