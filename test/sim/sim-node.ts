import type { Member, MemberEvent } from "../../src/gossip/index.ts";
import type { LogFields } from "../../src/observability/index.ts";

/** One process of the simulation. */
export interface SimNode {
  readonly name: string;
  readonly host: string;
  readonly member: Member;
  /** Recorded only where the cluster records. */
  readonly events: MemberEvent[];
  readonly warnings: { readonly message: string; readonly fields: LogFields | undefined }[];
  /** Sums of counters by `name{label values}`; only where the cluster records. */
  readonly counters: Map<string, number>;
  readonly readGauge: (name: string) => number;
  /** What it has said about itself last. */
  meta: Uint8Array;
  /** False once the process has ended. */
  running: boolean;
  /** True while it has left the cluster, or is leaving. */
  left: boolean;
  /** Faults that hold it now, and when the last one ended. */
  faults: number;
  soundSinceMs: number;
}
