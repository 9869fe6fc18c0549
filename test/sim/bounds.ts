import { gossipPresets } from "../../src/gossip/options.ts";
import { pushPullScale } from "../../src/gossip/periodic.ts";
import { suspicionBounds } from "../../src/gossip/suspicion.ts";

/**
 * What the simulator holds every run to, in one place. All members run with the `lan` defaults: a probe each second, an
 * exchange of views each 30 s and an attempt to reach the lost each 15 s (both rarer in large clusters), the dead forgotten after 30 s.
 */
export const bounds = {
  /**
   * From the end of all faults until every view is right. A suspicion that began in the last moment ends within 24 s (32 s
   * at 100 members, 72 s at 1000); a member that is thought dead is tried each 15 s, drawn from all that are lost, so a
   * handful of tries may go to others first; and a node that doubts itself probes up to 8 times as slowly for a while.
   * Who missed the news of a death hears of it in its next full exchange, after 30 s, 90 s at 100 members, and 210 s at
   * 1000, when those who did not miss it may have forgotten it; then its own suspicion begins.
   */
  convergenceMs: (nodes: number) =>
    Math.max(180_000, 90_000 + 30_000 * pushPullScale(nodes) + suspicionBounds(nodes, gossipPresets.lan).maxMs),
  /** From the moment when both viewer and member were sound until the member is not dead any more in that view: the same parts as above. */
  falseDeathMs: 180_000,
  /** How long a node that doubts itself as much as it can waits for an answer to one probe. */
  longestProbeMs: 8000,
  /** After that every view must stay right for this time without faults: longer than the longest suspicion of 100 members. */
  steadyMs: 40_000,
  /** Messages that wait: one for each known node, and the user messages that the scenario sends, at most 20 a node. */
  queueLength: (knownNodes: number) => knownNodes + 100,
  /** Timers of one process: a few loops, two for each of 128 probes for others, one for each suspicion, one for each open stream. */
  timers: (knownNodes: number, streams: number) => 2 * 128 + 32 + knownNodes + streams,
  /** Streams of one process that are open at one time: 128 that are served, and a few of its own. */
  streams: 160,
  /**
   * How long a view may name a node that is gone: a suspicion, 30 s, then until the end of the round of probes, which visits
   * each member once and is up to 8 times slower on a node that doubts itself.
   */
  forgottenMs: (nodes: number) => 300_000 + nodes * 8000,
};
