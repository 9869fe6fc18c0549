import { systemClock, systemRandom } from "../../src/base/index.ts";
import { createGit, type Git, type GitOptions } from "../../src/git/index.ts";
import { type Metrics, noMetrics, silentLogger } from "../../src/observability/index.ts";

/** The real thing over the machine's git. */
export async function startGit(options: Partial<GitOptions> = {}, metrics: Metrics = noMetrics): Promise<Git> {
  return await createGit(options, { clock: systemClock, random: systemRandom, logger: silentLogger, metrics });
}
