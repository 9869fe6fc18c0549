/** Bytes that one message carries at most. */
const maxMessageBytes = 128 * 1024;

/** Joins small chunks until a message is full, so that an advertisement is not one message for each ref. */
export async function* joined(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let group: Uint8Array[] = [];
  let groupBytes = 0;
  for (const chunk of chunks) {
    if (groupBytes > 0 && groupBytes + chunk.length > maxMessageBytes) {
      yield Buffer.concat(group, groupBytes);
      group = [];
      groupBytes = 0;
    }
    group.push(chunk);
    groupBytes += chunk.length;
  }
  if (groupBytes > 0) yield Buffer.concat(group, groupBytes);
}

/** Response messages with the bytes of `chunks`, at most 128 KiB each. */
export async function* dataMessages(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<{ data: Uint8Array }> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += maxMessageBytes) yield { data: chunk.subarray(at, at + maxMessageBytes) };
  }
}
