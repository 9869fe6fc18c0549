import { CodedError } from "../base/index.ts";
import { isEncryptionKey } from "./codec/encryption.ts";

/**
 * The keys that a member encrypts with, which may change while it runs. One sends, all are accepted, so that a key can be replaced
 * without loss: add the new one everywhere, then use it everywhere, then remove the old one everywhere.
 */
export interface KeyRing {
  /** The sending key first. Empty: nothing is encrypted. */
  list(): readonly Uint8Array[];
  /** Accepts one more key; the first of a ring also sends. Of a key that is there already nothing changes. Errors: `invalid_argument`. */
  add(key: Uint8Array): void;
  /** Sends with this key from now on. Errors: `not_found` where it was not added. */
  use(key: Uint8Array): void;
  /** Accepts this key no longer; of one that is not there nothing changes. Errors: `failed_precondition` for the sending key. */
  remove(key: Uint8Array): void;
}

/** A ring of AES keys of 16, 24 or 32 bytes; the first one sends. Errors: `invalid_argument`. */
export function createKeyRing(keys: readonly Uint8Array[] = []): KeyRing {
  const ring = new ListedKeys();
  for (const key of keys) ring.add(key);
  return ring;
}

class ListedKeys implements KeyRing {
  #keys: readonly Uint8Array[] = [];

  list(): readonly Uint8Array[] {
    return this.#keys;
  }

  add(key: Uint8Array): void {
    if (!isEncryptionKey(key)) {
      throw new CodedError("invalid_argument", "a gossip key is not 16, 24 or 32 bytes long", { sizeBytes: key.length });
    }
    if (!this.#find(key)) this.#keys = [...this.#keys, new Uint8Array(key)];
  }

  use(key: Uint8Array): void {
    const found = this.#find(key);
    if (!found) throw new CodedError("not_found", "the gossip key is not in the ring");
    this.#keys = [found, ...this.#keys.filter((each) => each !== found)];
  }

  remove(key: Uint8Array): void {
    const found = this.#find(key);
    if (found !== undefined && found === this.#keys[0]) {
      throw new CodedError("failed_precondition", "the gossip key that sends cannot be removed; use another one first");
    }
    this.#keys = this.#keys.filter((each) => each !== found);
  }

  #find(key: Uint8Array): Uint8Array | undefined {
    return this.#keys.find((each) => Buffer.compare(each, key) === 0);
  }
}
