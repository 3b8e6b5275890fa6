// A dialog over the page: the rest is out of reach while it is open, and gets the focus back where it was.
import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * Opens the dialog with its first paint, so that the next key is already its own. `onClose` is called when a person leaves it; never
 * after it is gone, since the browser tells of an end a moment later, when another dialog may be open.
 */
export function useModal(box: { current: HTMLDialogElement | null }, onClose: () => void): void {
  const latest = useRef(onClose);
  latest.current = onClose;
  useLayoutEffect(() => {
    const from = document.activeElement as HTMLElement | null;
    const dialog = box.current;
    const leave = () => latest.current();
    dialog?.addEventListener('cancel', leave);
    dialog?.addEventListener('close', leave);
    dialog?.showModal();
    return () => {
      dialog?.removeEventListener('cancel', leave);
      dialog?.removeEventListener('close', leave);
      // What is behind an open dialog takes no focus.
      dialog?.close();
      from?.focus();
    };
  }, []);
}
