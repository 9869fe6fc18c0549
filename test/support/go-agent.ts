import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { packageRoot } from "../../src/base/index.ts";
import { JsonAgent } from "./json-agent.ts";

/** The agent of Go's memberlist on this machine. */
export interface GoAgentBuild {
  /** False: an old memberlist, which has none. */
  readonly labels: boolean;
}

const executable = join(packageRoot, "node_modules", ".cache", "gitaly-gossip", "memberlist-agent");
let built: GoAgentBuild | { readonly missing: string; readonly noGo: boolean } | undefined;

/** Builds the agent, once in this process; what was built before makes it quick. Says why where that cannot be. */
export function buildGoAgent(): GoAgentBuild | { readonly missing: string; readonly noGo: boolean } {
  built ??= build();
  return built;
}

function build() {
  const { status, stdout, stderr } = spawnSync(join(packageRoot, ".ci", "memberlist-agent"), [executable], {
    encoding: "utf8",
    timeout: 280_000,
  });
  if (status === 0) return { labels: stdout.trim() === "module" };
  return { missing: `the memberlist agent cannot be built: ${stderr.trim().slice(-2000)}`, noGo: status === 3 };
}

/** Starts a process of Go members. Throws where {@link buildGoAgent} says why it cannot. */
export function startGoAgent(): JsonAgent {
  const found = buildGoAgent();
  if ("missing" in found) throw new Error(found.missing);
  return new JsonAgent(executable);
}
