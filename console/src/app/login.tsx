// The form that exchanges a key for a session. The key leaves the form in one request, and is kept nowhere.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Failure } from '../api/call.ts';
import { logIn } from './session.ts';

export function Login({ reason, isOver }: { reason: string | undefined; isOver: boolean }): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const box = useRef<HTMLDialogElement>(null);
  const [failure, setFailure] = useState<Failure | undefined>();
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (isOver) box.current?.showModal();
    else document.title = 'Log in · svc';
    form.current?.querySelector('input')?.focus();
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    const data = new FormData(form.current as HTMLFormElement);
    setBusy(true);
    setFailure(undefined);
    try {
      await logIn(String(data.get('key')), String(data.get('owner')).trim());
      form.current?.reset();
    } catch (error) {
      setFailure(error as Failure);
      setBusy(false);
    }
  };
  const content = (
    <form ref={form} class="login" onSubmit={submit} aria-labelledby="login-title">
      <h1 id="login-title">Log in to svc</h1>
      {reason && <p role="status">{reason}</p>}
      <label class="field">
        <span>Key</span>
        <input name="key" type="password" autoComplete="current-password" required spellcheck={false} />
        <small class="hint">An API key, an administrator’s key or a named key of this server.</small>
      </label>
      <label class="field">
        <span>Owner (optional)</span>
        <input name="owner" autoComplete="username" spellcheck={false} />
        <small class="hint">The session then acts for this owner only.</small>
      </label>
      {failure && (
        <p class="failed" role="alert">
          {failure.message}
          {failure.retryAfter !== undefined && ` Try again in ${failure.retryAfter} s.`}
        </p>
      )}
      <button type="submit" class="primary" disabled={busy}>
        {busy ? 'Working …' : 'Log in'}
      </button>
    </form>
  );
  if (!isOver) return <main class="login-page">{content}</main>;
  return (
    // A browser refuses to stay with a second Escape: it closes the dialog without asking.
    <dialog
      ref={box}
      onCancel={(event) => event.preventDefault()}
      onClose={() => box.current?.showModal()}
      aria-labelledby="login-title"
    >
      {content}
    </dialog>
  );
}
