import { neverAborted, type Random } from "../../src/base/index.ts";
import { makeCompounds } from "../../src/gossip/codec/compound.ts";
import type { Envelope } from "../../src/gossip/codec/envelope.ts";
import type { AliveMessage, PacketMessage, Source, StreamMessage } from "../../src/gossip/codec/message.ts";
import { openPacket } from "../../src/gossip/codec/packet.ts";
import { encodePacketMessage } from "../../src/gossip/codec/packet-message.ts";
import { StreamReader, sealStream } from "../../src/gossip/codec/stream.ts";
import type { GossipAddress, GossipStream, Transport } from "../../src/gossip/index.ts";
import { testVersions } from "./membership-state.ts";
import { simRandom } from "./sim-random.ts";

export interface ScriptedPeerOptions {
  readonly name: string;
  readonly transport: Transport;
  /** Host number: the peer says that it is at 10.0.0.<host>. */
  readonly host: number;
  readonly envelope?: Envelope;
}

type Handlers = {
  onPacket: (messages: readonly PacketMessage[], from: GossipAddress) => void;
  onStream: (message: StreamMessage, reply: (answer: StreamMessage) => Promise<void>) => Promise<void>;
};

/** One end of the wire that says what a test tells it and notes what it hears, without rules of its own. */
export class ScriptedPeer {
  readonly name: string;
  readonly transport: Transport;
  readonly source: Source;
  /** Messages of each datagram. */
  readonly packets: (readonly PacketMessage[])[] = [];
  readonly streams: StreamMessage[] = [];
  readonly #envelope: Envelope;
  readonly #random: Random = simRandom(9);
  #handlers: Handlers = { onPacket: () => {}, onStream: async () => {} };

  constructor({ name, transport, host, envelope = { label: "", keys: [] } }: ScriptedPeerOptions) {
    this.name = name;
    this.transport = transport;
    this.#envelope = envelope;
    this.source = { address: Uint8Array.of(10, 0, 0, host), port: transport.address.port, node: name };
    transport.start({
      onPacket: (bytes, from) => {
        const { messages } = openPacket(bytes, this.#envelope);
        this.packets.push(messages);
        this.#handlers.onPacket(messages, from);
      },
      onStream: (stream) => this.#serve(stream),
    });
  }

  /** All messages that were heard. */
  get heard(): readonly PacketMessage[] {
    return this.packets.flat();
  }

  /** Those of one kind. */
  heardOf<T extends PacketMessage["type"]>(type: T): Extract<PacketMessage, { type: T }>[] {
    return this.heard.filter((message): message is Extract<PacketMessage, { type: T }> => message.type === type);
  }

  /** What to do from now on; what is not given is silence. */
  script(handlers: Partial<Handlers>): void {
    this.#handlers = { onPacket: () => {}, onStream: async () => {}, ...handlers };
  }

  /** Acknowledges every ping from now on. */
  answerPings(): void {
    this.script({
      onPacket: (messages, from) => {
        for (const message of messages) if (message.type === "ping") this.say(from, { type: "ack", seqNo: message.seqNo, payload: null });
      },
    });
  }

  /** What it says of itself. */
  alive(more: Partial<AliveMessage> = {}): AliveMessage {
    const { address, port } = this.source;
    return { type: "alive", node: this.name, incarnation: 1, address, port, meta: new Uint8Array(), versions: testVersions, ...more };
  }

  /** Sends messages in one datagram, in plaintext. */
  say(to: GossipAddress, ...messages: PacketMessage[]): void {
    for (const packet of makeCompounds(messages.map(encodePacketMessage))) this.transport.sendPacket(packet, to);
  }

  /** Sends a message over a stream and returns what comes back; undefined where the other side closes without an answer. */
  ask(to: GossipAddress, message: StreamMessage): Promise<StreamMessage | undefined> {
    return this.askRaw(to, sealStream(message, { ...this.#envelope, compress: false, dialled: true }, this.#random));
  }

  /** As {@link ask}, with any bytes. */
  async askRaw(to: GossipAddress, bytes: Uint8Array): Promise<StreamMessage | undefined> {
    const stream = await this.transport.dial(to, neverAborted);
    try {
      await stream.write(bytes, neverAborted);
      return await receive(stream, new StreamReader(this.#envelope, true));
    } finally {
      stream.close();
    }
  }

  async #serve(stream: GossipStream): Promise<void> {
    try {
      const message = await receive(stream, new StreamReader(this.#envelope, false));
      if (!message) return;
      this.streams.push(message);
      await this.#handlers.onStream(message, (answer) => {
        return stream.write(sealStream(answer, { ...this.#envelope, compress: false, dialled: false }, this.#random), neverAborted);
      });
    } finally {
      stream.close();
    }
  }
}

async function receive(stream: GossipStream, reader: StreamReader): Promise<StreamMessage | undefined> {
  for (let chunk = await stream.read(neverAborted); chunk; chunk = await stream.read(neverAborted)) {
    const message = reader.push(chunk);
    if (message) return message;
  }
  return undefined;
}
