import type { ServerFacts } from "../../src/db/hosts/server-facts.ts";

/** What a healthy primary says of itself, unless told otherwise. */
export function primaryFacts(given: Partial<ServerFacts> = {}): ServerFacts {
  return {
    inRecovery: false,
    readOnly: false,
    systemId: "7000",
    timeline: 1,
    writeLsn: 1000n,
    receiveLsn: undefined,
    replayLsn: undefined,
    replayDelayMs: undefined,
    streaming: false,
    serverVersion: 170010,
    subscriber: false,
    startedAt: `${given.systemId ?? "7000"} ${given.timeline ?? 1}`,
    checkedAtMs: 0,
    ...given,
  };
}

/** What a standby that has everything says of itself, unless told otherwise. */
export function standbyFacts(given: Partial<ServerFacts> = {}): ServerFacts {
  return primaryFacts({
    inRecovery: true,
    readOnly: true,
    writeLsn: undefined,
    receiveLsn: 1000n,
    replayLsn: 1000n,
    replayDelayMs: 100,
    streaming: true,
    ...given,
  });
}

/** What a logical replica says of itself, unless told otherwise. */
export function subscriberFacts(given: Partial<ServerFacts> = {}): ServerFacts {
  return primaryFacts({ systemId: "8000", subscriber: true, originLsn: 1000n, writeLsn: 50n, ...given });
}
