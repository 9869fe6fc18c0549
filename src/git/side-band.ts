import { encodePkt } from "./pkt-line.ts";

/** 1 carries data, 2 messages for the user, 3 a fatal error. */
export type Band = 1 | 2 | 3;

const maxChunkBytes = 65515;

/** Splits `data` into the packets of one side-band-64k band. */
export function* sideBand(band: Band, data: string | Uint8Array): Generator<Uint8Array, void, undefined> {
  const bytes = typeof data === "string" ? Buffer.from(data, "latin1") : data;
  for (let offset = 0; offset < bytes.length; offset += maxChunkBytes) {
    yield encodePkt(Buffer.concat([Buffer.of(band), bytes.subarray(offset, offset + maxChunkBytes)]));
  }
}

/** An empty data packet: tells the client that the server still works. */
export const keepAlivePkt: Uint8Array = encodePkt(Buffer.of(1));
