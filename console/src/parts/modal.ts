// A dialog over the page: the rest is out of reach while it is open, and gets the focus back where it was.
import { useEffect } from 'preact/hooks';

export function useModal(box: { current: HTMLDialogElement | null }): void {
  useEffect(() => {
    const from = document.activeElement as HTMLElement | null;
    const dialog = box.current;
    dialog?.showModal();
    return () => {
      // What is behind an open dialog takes no focus.
      dialog?.close();
      from?.focus();
    };
  }, []);
}
