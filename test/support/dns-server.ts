import { createSocket } from "node:dgram";
import { createServer, type Socket } from "node:net";
import { type Answer, AUTHORITATIVE_ANSWER, decode, encode, type Question, TRUNCATED_RESPONSE } from "dns-packet";

/** What the server answers to a question; undefined: it says nothing. */
export interface DnsReply {
  readonly answers?: readonly Answer[];
  readonly additionals?: readonly Answer[];
  /** 0 no error, 2 server failure, 3 no such name. */
  readonly code?: number;
  /** Over UDP, only the news that the answer is longer. */
  readonly truncated?: boolean;
  /** Sent instead of all else. */
  readonly raw?: Buffer;
}

/** What was asked, and how. */
interface DnsAsked {
  readonly name: string;
  readonly type: string;
  readonly over: "udp" | "tcp";
}

/** A nameserver on loopback, UDP and TCP on one port, that answers by `reply`, which may be replaced at any time. */
export interface DnsServer extends AsyncDisposable {
  readonly port: number;
  readonly asked: DnsAsked[];
  reply: (question: Question, over: "udp" | "tcp") => DnsReply | undefined;
}

export async function startDnsServer(reply: DnsServer["reply"] = () => ({ code: 3 })): Promise<DnsServer> {
  const connections = new Set<Socket>();
  const tcp = createServer((socket) => {
    connections.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => connections.delete(socket));
    let received = Buffer.alloc(0);
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const message = answer(received.subarray(2), "tcp");
      if (!message) return;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(message.length);
      socket.end(Buffer.concat([length, message]));
    });
  });
  await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
  const { port } = tcp.address() as { port: number };
  const udp = createSocket("udp4");
  udp.on("message", (query, from) => {
    const message = answer(query, "udp");
    if (message) udp.send(message, from.port, from.address);
  });
  await new Promise<void>((resolve) => udp.bind(port, "127.0.0.1", resolve));

  const answer = (query: Buffer, over: "udp" | "tcp"): Buffer | undefined => {
    const { id = 0, questions = [] } = decode(query);
    const [question] = questions;
    if (!question) return undefined;
    server.asked.push({ name: question.name, type: question.type, over });
    const replied = server.reply(question, over);
    if (!replied || replied.raw) return replied?.raw;
    const truncated = replied.truncated === true && over === "udp";
    const flags = AUTHORITATIVE_ANSWER | (replied.code ?? 0) | (truncated ? TRUNCATED_RESPONSE : 0);
    return encode({
      type: "response",
      id,
      flags,
      questions: [question],
      answers: truncated ? [] : [...(replied.answers ?? [])],
      additionals: truncated ? [] : [...(replied.additionals ?? [])],
    });
  };
  const server: DnsServer = {
    port,
    asked: [],
    reply,
    [Symbol.asyncDispose]: async () => {
      for (const socket of connections) socket.destroy();
      await Promise.all([
        new Promise<void>((resolve) => udp.close(() => resolve())),
        new Promise<void>((resolve) => tcp.close(() => resolve())),
      ]);
    },
  };
  return server;
}
