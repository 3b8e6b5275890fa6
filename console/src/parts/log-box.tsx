// Text of many lines in a box that scrolls, and that the keyboard reaches.
import type { JSX, Ref } from 'preact';

export interface LogBoxProps {
  label: string;
  text: string;
  box?: Ref<HTMLElement>;
  onScroll?(): void;
}

export function LogBox({ label, text, box = null, onScroll }: LogBoxProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by the keyboard.
    <section class="log" ref={box} tabIndex={0} onScroll={onScroll} aria-label={label}>
      <pre>{text}</pre>
    </section>
  );
}
