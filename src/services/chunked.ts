/** Bytes of items that one message of a list carries at most; leaves room below 1 MiB for the rest of the message. */
const defaultMaxBytes = 1024 * 1024 - 8192;

/** Groups `items` so that the sizes of a group add up to at most `maxBytes`; an item above it is a group of its own. */
export function* chunked<T>(items: Iterable<T>, sizeOf: (item: T) => number, maxBytes: number = defaultMaxBytes): Generator<T[]> {
  let group: T[] = [];
  let groupBytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (group.length > 0 && groupBytes + size > maxBytes) {
      yield group;
      group = [];
      groupBytes = 0;
    }
    group.push(item);
    groupBytes += size;
  }
  if (group.length > 0) yield group;
}
