import type { Config } from "../config/index.ts";
import type { MemberOptions } from "../gossip/index.ts";

/** How gossip members of this node encrypt. */
export function gossipEncryption({
  encryptionKeys,
  encryption,
}: Config["cluster"]): Pick<MemberOptions, "encryptionKeys" | "verifyIncoming" | "verifyOutgoing"> {
  return {
    encryptionKeys: encryptionKeys.map((key) => new Uint8Array(Buffer.from(key, "base64"))),
    verifyIncoming: encryption === "required",
    verifyOutgoing: encryption !== "accepted",
  };
}
