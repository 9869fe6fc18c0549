import { createSocket } from "node:dgram";
import { createConnection } from "node:net";
import { CodedError } from "../../../base/index.ts";

/** Sends a DNS query and gives back whatever answers, unread. Rejects when `signal` aborts. */
export type DnsExchange = (query: Uint8Array, server: { host: string; port: number }, signal: AbortSignal) => Promise<Buffer>;

/** Whether a datagram answers `query`: same id, and marked as a response. The rest is for the reader of the message to check. */
function answers(message: Buffer, query: Uint8Array): boolean {
  return message.length >= 12 && message[0] === query[0] && message[1] === query[1] && ((message[2] ?? 0) & 0x80) !== 0;
}

/** One datagram out, the first that answers it in. A fresh port each time; the kernel drops what other addresses send. */
export const exchangeOverUdp: DnsExchange = (query, { host, port }, signal) =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
    const finish = (end: () => void) => {
      signal.removeEventListener("abort", onAbort);
      socket.close();
      end();
    };
    const onAbort = () => finish(() => reject(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", (error) => finish(() => reject(error)));
    socket.on("message", (message) => {
      if (answers(message, query)) finish(() => resolve(message));
    });
    // Given as a callback, it would be called where there is no route, too.
    socket.once("connect", () => socket.send(query));
    socket.connect(port, host);
  });

/** The same over a connection, where answers may be as large as the protocol allows: 64 KiB. */
export const exchangeOverTcp: DnsExchange = (query, { host, port }, signal) =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const socket = createConnection({ host, port, noDelay: true });
    let received = Buffer.alloc(0);
    const finish = (end: () => void) => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      end();
    };
    const onAbort = () => finish(() => reject(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", (error) => finish(() => reject(error)));
    socket.once("close", () => finish(() => reject(new CodedError("protocol_error", "the nameserver closed the connection early"))));
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2) return;
      const end = 2 + received.readUInt16BE(0);
      if (received.length < end) return;
      const message = received.subarray(2, end);
      if (answers(message, query)) finish(() => resolve(message));
      else finish(() => reject(new CodedError("protocol_error", "the nameserver answered another query")));
    });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.length);
    socket.write(Buffer.concat([length, query]));
  });
