// The filter of lists.

/** Whether a text has every word of `filter`, in any case; undefined for a filter without words. */
export function matcher(filter: string): ((text: string) => boolean) | undefined {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return undefined;
  return (text) => {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
}
