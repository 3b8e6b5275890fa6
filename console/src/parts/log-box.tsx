// Text of many lines in a box that scrolls, and that the keyboard reaches.
import type { JSX, Ref } from 'preact';

export interface LogBoxProps {
  label: string;
  text: string;
  box?: Ref<HTMLElement>;
}

export function LogBox({ label, text, box = null }: LogBoxProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls is reached by the keyboard.
    <section class="log" ref={box} tabIndex={0} aria-label={label}>
      <pre>{text}</pre>
    </section>
  );
}
