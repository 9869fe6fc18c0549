import { Semaphore, startDeadline } from "../base/index.ts";
import type { Member__Output } from "../proto/gen/gitaly_gossip/v1/Member.ts";
import type { CliContext } from "./context.ts";

const askTimeoutMs = 1000;
const maxAtOnce = 64;

/** The ring fingerprint that each member sees, by its name, asked of each at once for at most 1 s; null without an answer. */
export async function askFingerprints(
  members: readonly Member__Output[],
  context: CliContext,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string | null>> {
  const places = new Semaphore(maxAtOnce);
  const answers = members.map(async (member): Promise<[string, string | null]> => {
    using _place = await places.acquire(signal);
    return [member.name, await askFingerprint(member, context, signal)];
  });
  return new Map(await Promise.all(answers));
}

async function askFingerprint(member: Member__Output, { deps }: CliContext, signal: AbortSignal): Promise<string | null> {
  // A foreign gossip member has no gRPC address, and one with TLS cannot be asked yet.
  if (member.grpcAddress === "" || member.grpcTls || member.status === "left") return null;
  using deadline = startDeadline(deps.clock, askTimeoutMs, signal);
  try {
    await using client = deps.connect(`grpc://${member.grpcAddress}`);
    const { ringFingerprint } = await client.cluster.status({}, { signal: deadline.signal });
    return ringFingerprint || null;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}
