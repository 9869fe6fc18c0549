import { startDeadline, systemClock } from "../../src/base/index.ts";
import { MsgpackReader } from "../../src/gossip/codec/msgpack-reader.ts";
import { MsgpackWriter } from "../../src/gossip/codec/msgpack-writer.ts";
import { Schema } from "../../src/gossip/codec/schema.ts";
import { createMember, formatAddress, type Member, type MemberEvent } from "../../src/gossip/index.ts";

/** First byte of serf's own messages, and of its metadata where that holds tags. */
const serfType = { leave: 0, join: 1, pushPull: 2, tags: 255 } as const;
/** Understood and spoken versions of serf's protocol. */
const serfVersions = [2, 5, 4] as const;
const clockSchema = new Schema(["LTime"]);

/** Names and values, as serf shows them. */
export type SerfTags = Readonly<Record<string, string>>;

/** Metadata as serf reads it. */
export function serfMeta(tags: SerfTags): Buffer {
  const writer = started(serfType.tags);
  const entries = Object.entries(tags);
  writer.struct(entries.length);
  for (const [key, value] of entries) {
    writer.text(key);
    writer.text(value);
  }
  return writer.finish();
}

/**
 * A member of ours that passes for one of serf's: the library has hooks for what serf adds to memberlist, and this is all that is
 * needed of it. Disposing it ends the member.
 */
export class SerfPeer implements AsyncDisposable {
  readonly events: MemberEvent[] = [];
  /** First bytes of the messages of serf that it heard. */
  readonly heard = new Set<number>();
  #member: Member | undefined;
  /** Lamport's clock of serf's cluster. */
  #time = 1;

  private constructor() {}

  static async start(name: string, tags: SerfTags, encryptionKeys: readonly Uint8Array[] = []): Promise<SerfPeer> {
    const peer = new SerfPeer();
    const member = await createMember(
      { name, bindHost: "127.0.0.1", bindPort: 0, meta: serfMeta(tags), encryptionKeys, delegateVersions: serfVersions },
      { hooks: { userState: () => peer.#state(), mergeUserState: (bytes) => peer.#witness(bytes) } },
    );
    peer.#member = member;
    member.subscribe((event) => {
      peer.events.push(event);
      if (event.type === "message") peer.#witness(event.payload);
    });
    return peer;
  }

  get member(): Member {
    if (!this.#member) throw new Error("not started");
    return this.#member;
  }

  get address(): string {
    return formatAddress(this.member.address);
  }

  async join(address: string): Promise<void> {
    const [host = "", port = ""] = address.split(":");
    using deadline = startDeadline(systemClock, 20_000);
    await this.member.join([{ host, port: Number(port) }], deadline.signal);
  }

  /** Says that it is about to leave: serf counts those who leave without having said so as failed. */
  announceLeave(): void {
    const writer = started(serfType.leave);
    writer.struct(3);
    writer.text("LTime");
    writer.unsigned(this.#time + 1);
    writer.text("Node");
    writer.text(this.member.name);
    writer.text("Prune");
    writer.bool(false);
    this.member.broadcast(writer.finish());
  }

  async leave(): Promise<void> {
    using deadline = startDeadline(systemClock, 20_000);
    await this.member.leave(deadline.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#member?.destroy();
  }

  /** What serf wants with each full exchange: clocks, who has which status since when, and no past events. */
  #state(): Uint8Array {
    const writer = started(serfType.pushPull);
    writer.struct(6);
    writer.text("EventLTime");
    writer.unsigned(1);
    writer.text("Events");
    writer.nil();
    writer.text("LTime");
    writer.unsigned(this.#time);
    writer.text("LeftMembers");
    writer.nil();
    writer.text("QueryLTime");
    writer.unsigned(1);
    writer.text("StatusLTimes");
    writer.struct(1);
    writer.text(this.member.name);
    writer.unsigned(1);
    return writer.finish();
  }

  /** Moves the clock beyond that of a message. */
  #witness(message: Uint8Array): void {
    const [type = -1] = message;
    this.heard.add(type);
    if (type !== serfType.leave && type !== serfType.join && type !== serfType.pushPull) return;
    const time = new MsgpackReader(message, 1).struct(clockSchema).unsigned("LTime", Number.MAX_SAFE_INTEGER);
    this.#time = Math.max(this.#time, time + 1);
  }
}

function started(type: number): MsgpackWriter {
  const writer = new MsgpackWriter();
  writer.start();
  writer.byte(type);
  return writer;
}
