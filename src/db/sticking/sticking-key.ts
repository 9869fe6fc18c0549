import { createHash } from "node:crypto";
import { CodedError } from "../../base/index.ts";

/** Whose reads must see whose writes: a namespace and an id, `["user", 42]`. With `hashId` only a digest of the id is kept. */
export type StickKey =
  | readonly [namespace: string, id: string | number]
  | { readonly namespace: string; readonly id: string | number; readonly hashId?: boolean };

const maxKeys = 1000;

/** The store's names for `keys`. Errors: `invalid_argument`. */
export function stickingKeys(keys: readonly StickKey[]): string[] {
  if (keys.length > maxKeys) throw new CodedError("invalid_argument", "too many sticking keys", { keys: keys.length, maxKeys });
  const names = keys.map((key) => {
    const { namespace, id, hashId = false } = "namespace" in key ? key : { namespace: key[0], id: key[1] };
    const text = String(id);
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(namespace) || text === "" || text.length > 1024) {
      throw new CodedError("invalid_argument", "a sticking key is a short namespace and a non-empty id", {
        namespace: namespace.slice(0, 64),
      });
    }
    return `${namespace}/${hashId ? createHash("sha256").update(text).digest("hex") : text}`;
  });
  return [...new Set(names)];
}
