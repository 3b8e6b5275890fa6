// Lets the terminal work under the policy of the page, which admits no inline style: its style elements get the page's nonce, and
// style attributes become properties, which the policy does not judge. Loaded with the terminal alone.

let isInstalled = false;

/** Idempotent. */
export function installStrictStyles(): void {
  if (isInstalled) return;
  isInstalled = true;
  const nonce = document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '';
  const create = document.createElement;
  document.createElement = function (this: Document, name: string, options?: ElementCreationOptions) {
    const element = create.call(this, name, options);
    // A nonce that is set after the insertion comes too late.
    if (name === 'style') element.nonce = nonce;
    return element;
  } as typeof document.createElement;
  const { setAttribute } = Element.prototype;
  HTMLSpanElement.prototype.setAttribute = function (name: string, value: string) {
    if (name === 'style') this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
}
