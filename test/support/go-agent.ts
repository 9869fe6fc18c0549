import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { packageRoot } from "../../src/base/index.ts";
import { JsonAgent } from "./json-agent.ts";

/** Whether there is an agent of Go's memberlist on this machine. */
export interface GoAgentBuild {
  /** Why there is none. */
  readonly missing?: string;
  /** It is missing although there is Go, where the peers' tests must run. */
  readonly failed: boolean;
  /** False: an old memberlist, which has none. */
  readonly labels: boolean;
}

const executable = join(packageRoot, "node_modules", ".cache", "gitaly-gossip", "memberlist-agent");
/** Exit status of the build where there is no Go. */
const noGoStatus = 3;
let built: GoAgentBuild | undefined;

/** Builds the agent, once in this process; what was built before makes it quick. `suite` prints why it does not run, if so. */
export function buildGoAgent(suite?: string): GoAgentBuild {
  built ??= build();
  if (suite !== undefined && built.missing !== undefined) {
    process.stdout.write(`${suite}: ${built.failed ? "failed" : "skipped"}: ${built.missing}\n`);
  }
  return built;
}

function build(): GoAgentBuild {
  const { status, stdout, stderr } = spawnSync(join(packageRoot, ".ci", "memberlist-agent"), [executable], {
    encoding: "utf8",
    timeout: 280_000,
  });
  if (status === 0) return { failed: false, labels: stdout.trim() === "module" };
  const required = process.env["CI"] !== undefined && process.env["GITALY_TEST_PEERS"] === "1";
  const missing = `the memberlist agent cannot be built: ${stderr.trim().slice(-2000)}`;
  return { missing, failed: required && status !== noGoStatus, labels: false };
}

/** Starts a process of Go members. Throws where {@link buildGoAgent} says that it cannot. */
export function startGoAgent(): JsonAgent {
  const { missing } = buildGoAgent();
  if (missing !== undefined) throw new Error(missing);
  return new JsonAgent(executable);
}
