import { type EncryptionFormat, encryptionOverheadBytes } from "./encryption.ts";
import { labelHeaderBytes } from "./label.ts";

/** What the members of a cluster must share, and how strictly this one takes it. Read at each use, for the keys may change. */
export interface Envelope {
  /** "" = none. */
  readonly label: string;
  /** The first encrypts, all decrypt. Empty = plaintext. */
  readonly keys: readonly Uint8Array[];
  /** False: plaintext is taken as well where there are keys. Default true. */
  readonly verifyIncoming?: boolean | undefined;
  /** False: plaintext is sent although there are keys. Default true. */
  readonly verifyOutgoing?: boolean | undefined;
  /** True: what has no label is taken as well. Default false. */
  readonly acceptUnlabelled?: boolean | undefined;
  /** Default 1. */
  readonly encryptionFormat?: EncryptionFormat | undefined;
}

const emptyBytes = Buffer.alloc(0);

/** What is authenticated beside the message. */
export function labelBytes({ label }: Envelope): Buffer {
  return label === "" ? emptyBytes : Buffer.from(label, "utf8");
}

/** The key that encrypts what is sent; undefined for plaintext. */
export function sendKey({ keys, verifyOutgoing }: Envelope): Uint8Array | undefined {
  return verifyOutgoing === false ? undefined : keys[0];
}

/** True where plaintext is refused. */
export function requiresEncryption({ keys, verifyIncoming }: Envelope): boolean {
  return keys.length > 0 && verifyIncoming !== false;
}

const crcBytes = 5;

/** Bytes that label, checksum and encryption may add to a packet. */
export function packetOverheadBytes(envelope: Envelope): number {
  const encryptionBytes = sendKey(envelope) ? encryptionOverheadBytes(envelope.encryptionFormat ?? 1) : 0;
  return labelHeaderBytes(envelope.label) + encryptionBytes + crcBytes;
}
