import { type Answer, type DecodedPacket, decode, encode, RECURSION_DESIRED } from "dns-packet";
import { type Clock, CodedError, type Random, startDeadline } from "../../../base/index.ts";
import { type DnsExchange, exchangeOverTcp, exchangeOverUdp } from "./exchange.ts";

/** The record types that lead to servers. */
export type RecordType = "A" | "AAAA" | "SRV";

/** What the client works with; `udp` and `tcp` default to the network. */
export interface DnsClientDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly udp?: DnsExchange;
  readonly tcp?: DnsExchange;
}

interface OwnedRecord<T extends string, D> {
  readonly type: T;
  readonly name: string;
  /** Seconds. */
  readonly ttl?: number;
  readonly data: D;
}

/** The records of an answer that lead to servers: an address, another name, or a name and a port. */
export type DnsRecord =
  | OwnedRecord<"A" | "AAAA" | "CNAME", string>
  | OwnedRecord<"SRV", { readonly target: string; readonly port: number }>;

/** A positive answer. */
export interface DnsAnswer {
  readonly answers: readonly DnsRecord[];
  readonly additionals: readonly DnsRecord[];
}

/** An unanswered datagram is sent again after this. */
const resendMs = 500;
/** What fits through every path unfragmented. */
const udpPayloadBytes = 1232;
const maxRecords = 4096;

const noSuchName = 3;
const notUnderstood: readonly number[] = [1, 4];

/** Asks one nameserver: over UDP, again when nothing comes, over TCP when the answer is too long or when told to. */
export class DnsClient {
  readonly #useTcp: boolean;
  readonly #deps: DnsClientDeps;

  constructor(options: { readonly useTcp: boolean }, deps: DnsClientDeps) {
    this.#useTcp = options.useTcp;
    this.#deps = deps;
  }

  /** Errors: `not_found` (there is no such name), `protocol_error`, `node_unavailable` (the nameserver failed), the network's own. */
  async query(name: string, type: RecordType, server: { host: string; port: number }, signal: AbortSignal): Promise<DnsAnswer> {
    let packet = await this.#exchange(name, type, server, true, signal);
    // Old servers do not know the extension that allows for longer datagrams.
    if (notUnderstood.includes(responseCode(packet))) packet = await this.#exchange(name, type, server, false, signal);
    const code = responseCode(packet);
    if (code === noSuchName) throw new CodedError("not_found", "there is no such name in DNS", { name, type });
    if (code !== 0) throw new CodedError("node_unavailable", "the nameserver failed", { name, type, responseCode: code });
    const { answers = [], additionals = [] } = packet;
    if (answers.length + additionals.length > maxRecords)
      throw new CodedError("limit_exceeded", "a DNS answer has too many records", { name });
    return { answers: answers.filter(leadsOn), additionals: additionals.filter(leadsOn) };
  }

  async #exchange(
    name: string,
    type: RecordType,
    server: { host: string; port: number },
    extended: boolean,
    signal: AbortSignal,
  ): Promise<DecodedPacket> {
    const query = encode({
      type: "query",
      id: this.#deps.random.int(65_536),
      flags: RECURSION_DESIRED,
      questions: [{ name, type, class: "IN" }],
      ...(extended ? { additionals: [optRecord()] } : {}),
    });
    const { udp = exchangeOverUdp, tcp = exchangeOverTcp } = this.#deps;
    if (!this.#useTcp) {
      const packet = read(await this.#resending(udp, query, server, signal), name, type);
      if (!packet.flag_tc) return packet;
    }
    return read(await tcp(query, server, signal), name, type);
  }

  async #resending(udp: DnsExchange, query: Uint8Array, server: { host: string; port: number }, signal: AbortSignal): Promise<Buffer> {
    for (;;) {
      using patience = startDeadline(this.#deps.clock, resendMs, signal);
      try {
        return await udp(query, server, patience.signal);
      } catch (error) {
        if (signal.aborted || !patience.signal.aborted) throw error;
      }
    }
  }
}

function leadsOn(record: Answer): record is Answer & DnsRecord {
  return record.type === "A" || record.type === "AAAA" || record.type === "CNAME" || record.type === "SRV";
}

function optRecord(): Answer {
  return {
    type: "OPT",
    name: ".",
    udpPayloadSize: udpPayloadBytes,
    flags: 0,
    extendedRcode: 0,
    ednsVersion: 0,
    flag_do: false,
    options: [],
  };
}

function responseCode(packet: DecodedPacket): number {
  return (packet.flags ?? 0) & 0x0f;
}

function read(message: Buffer, name: string, type: RecordType): DecodedPacket {
  let packet: DecodedPacket;
  try {
    packet = decode(message);
  } catch (error) {
    throw new CodedError("protocol_error", "a DNS answer cannot be read", { name, type }, { cause: error });
  }
  const [question] = packet.questions ?? [];
  // Servers that refuse a query without reading it leave the question out.
  const isOurs = question ? sameName(question.name, name) && question.type === type : responseCode(packet) !== 0;
  if (!isOurs) throw new CodedError("protocol_error", "a DNS answer is about another name", { name, type });
  return packet;
}

/** Compares names as DNS does: without regard to case and to the root's dot. */
export function sameName(a: string, b: string): boolean {
  return plainName(a) === plainName(b);
}

/** The form of a name that can be compared and looked up. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}
