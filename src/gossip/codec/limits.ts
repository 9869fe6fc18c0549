/** Bounds on what a peer may send. A decoder checks each before it allocates. */
export const codecLimits = {
  /** Nesting of compound and compressed messages, and of msgpack values. */
  depth: 5,
  /** Values in one msgpack object, nested ones included. */
  valuesPerObject: 4096,
  /** Messages in one packet, over all nested compounds. */
  messagesPerPacket: 2048,
  /** Bytes that all compressed parts of one packet may expand to. */
  packetExpandedBytes: 1 << 20,
  /** Node states in one push/pull. */
  nodesPerPushPull: 1 << 14,
  /** Bytes of one stream frame, of its user state, and of a user message. */
  streamBytes: 20 << 20,
  /** Bytes that a compressed stream frame may expand to. */
  streamExpandedBytes: 40 << 20,
  /** UTF-8 bytes of a node name or of an error text. */
  textBytes: 1024,
} as const;
