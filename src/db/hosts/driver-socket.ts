import { type OnReadOpts, Socket, type SocketConstructorOpts } from "node:net";

/** Longer writes are not worth a copy. Bytes. */
const maxGatheredBytes = 16 * 1024;

// What is read is copied out at once, and no two sockets read at the same time: one buffer does for all of them.
const readBuffer = Buffer.allocUnsafe(64 * 1024);

const writeList = Socket.prototype._writev as NonNullable<Socket["_writev"]>;

/**
 * A socket for the driver's small messages: what it writes in one go leaves as one piece, and what comes in is copied into a piece
 * of its size, where a plain socket passes on a list and allocates 64 KiB for each answer.
 */
export class DriverSocket extends Socket {
  constructor() {
    const onRead = (bytes: number, buffer: Uint8Array) => {
      this.emit("data", Buffer.from(buffer.subarray(0, bytes)));
      return true;
    };
    const options: SocketConstructorOpts & { onread: OnReadOpts } = { onread: { buffer: readBuffer, callback: onRead } };
    super(options);
  }

  /** What was written while the socket was corked. */
  override _writev(chunks: { chunk: Uint8Array; encoding: BufferEncoding }[], done: (error?: Error | null) => void): void {
    let bytes = 0;
    for (const { chunk } of chunks) bytes += chunk.length;
    if (bytes > maxGatheredBytes) {
      writeList.call(this, chunks, done);
      return;
    }
    const piece = Buffer.allocUnsafe(bytes);
    let at = 0;
    for (const { chunk } of chunks) {
      piece.set(chunk, at);
      at += chunk.length;
    }
    this._write(piece, "buffer" as BufferEncoding, done);
  }
}
