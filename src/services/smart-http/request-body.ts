import { CodedError } from "../../base/index.ts";

/** Takes the first message off a stream of requests. Errors: `invalid_argument` where it is missing or carries data. */
export async function firstMessage<T extends { readonly data: Buffer }>(requests: AsyncIterator<T>): Promise<T> {
  const first = await requests.next();
  if (first.done) throw new CodedError("invalid_argument", "no request message");
  if (first.value.data.length > 0) throw new CodedError("invalid_argument", "non-empty Data");
  return first.value;
}

/** The bytes of the messages that follow the first. */
export async function* bodyAfterFirst<T extends { readonly data: Buffer }>(requests: AsyncIterator<T>): AsyncGenerator<Uint8Array> {
  try {
    for (let item = await requests.next(); !item.done; item = await requests.next()) {
      if (item.value.data.length > 0) yield item.value.data;
    }
  } finally {
    await requests.return?.();
  }
}
