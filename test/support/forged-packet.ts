import { createSocket } from "node:dgram";
import type { PacketMessage } from "../../src/gossip/codec/message.ts";
import { encodePacketMessage } from "../../src/gossip/codec/packet-message.ts";

/** Sends one message in the clear from a port that belongs to no member. */
export async function sendForged(address: string, message: PacketMessage): Promise<void> {
  const [host = "", port = ""] = address.split(":");
  const socket = createSocket("udp4");
  try {
    await new Promise<void>((resolve, reject) => {
      socket.send(encodePacketMessage(message), Number(port), host, (error) => (error ? reject(error) : resolve()));
    });
  } finally {
    socket.close();
  }
}
