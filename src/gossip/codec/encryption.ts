import { createCipheriv, createDecipheriv } from "node:crypto";
import type { Random } from "../../base/index.ts";
import { protocolError } from "./protocol-error.ts";

const nonceBytes = 12;
const tagBytes = 16;
const blockBytes = 16;

/** Format 0, of protocol version 1, pads to whole blocks; format 1 does not. The first byte on the wire names it. */
export type EncryptionFormat = 0 | 1;

/** Bytes that encryption adds to a message, at most. */
export function encryptionOverheadBytes(format: EncryptionFormat): number {
  return 1 + nonceBytes + tagBytes + (format === 0 ? blockBytes : 0);
}

const cipherNames = { 16: "aes-128-gcm", 24: "aes-192-gcm", 32: "aes-256-gcm" } as const;

function cipherName(key: Uint8Array): (typeof cipherNames)[keyof typeof cipherNames] {
  return cipherNames[key.length as keyof typeof cipherNames];
}

/** True for key lengths of AES-128, AES-192 and AES-256. */
export function isEncryptionKey(key: Uint8Array): boolean {
  return key.length in cipherNames;
}

/** How long {@link encrypt} makes `plaintextBytes`. */
export function encryptedBytes(plaintextBytes: number, format: EncryptionFormat): number {
  return plaintextBytes + encryptionOverheadBytes(format) - (format === 0 ? plaintextBytes % blockBytes : 0);
}

/** Version byte, nonce, ciphertext, tag. */
export function encrypt(plaintext: Uint8Array, key: Uint8Array, additional: Uint8Array, random: Random, format: EncryptionFormat): Buffer {
  const nonce = random.bytes(nonceBytes);
  const cipher = createCipheriv(cipherName(key), key, nonce);
  cipher.setAAD(additional);
  const ciphertext = cipher.update(format === 0 ? pad(plaintext) : plaintext);
  cipher.final();
  return Buffer.concat([Buffer.of(format), nonce, ciphertext, cipher.getAuthTag()]);
}

/** Tries each key in turn; reads both formats. Errors: `protocol_error`. */
export function decrypt(bytes: Uint8Array, keys: readonly Uint8Array[], additional: Uint8Array): Buffer {
  const version = bytes[0];
  if (version !== 0 && version !== 1) throw protocolError("an unknown encryption version", { reason: "decrypt", version });
  if (bytes.length < encryptionOverheadBytes(version)) throw protocolError("an encrypted message is too short", { reason: "decrypt" });
  const nonce = bytes.subarray(1, 1 + nonceBytes);
  const tag = bytes.subarray(bytes.length - tagBytes);
  const ciphertext = bytes.subarray(1 + nonceBytes, bytes.length - tagBytes);
  for (const key of keys) {
    const decipher = createDecipheriv(cipherName(key), key, nonce, { authTagLength: tagBytes });
    decipher.setAAD(additional);
    decipher.setAuthTag(tag);
    const plaintext = decipher.update(ciphertext);
    try {
      decipher.final();
    } catch {
      continue;
    }
    return version === 0 ? unpad(plaintext) : plaintext;
  }
  throw protocolError("no key decrypts the message", { reason: "decrypt" });
}

function pad(plaintext: Uint8Array): Buffer {
  const padding = blockBytes - (plaintext.length % blockBytes);
  return Buffer.concat([plaintext, Buffer.alloc(padding, padding)]);
}

function unpad(plaintext: Buffer): Buffer {
  const padding = plaintext[plaintext.length - 1] ?? 0;
  if (padding < 1 || padding > blockBytes || padding > plaintext.length) throw protocolError("wrong padding", { reason: "decrypt" });
  return plaintext.subarray(0, plaintext.length - padding);
}
