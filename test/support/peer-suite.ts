/** Whether a suite's peers are there. */
export interface PeerSuite {
  /** Why they are not; undefined where they are. */
  readonly missing: string | undefined;
  /** They must be: on CI, where they were installed. */
  readonly required: boolean;
}

/** Says on the output where a suite does not run, and why. */
export function peerSuite(name: string, missing: string | undefined): PeerSuite {
  const required = process.env["CI"] !== undefined && process.env["GITALY_TEST_PEERS"] === "1";
  if (missing !== undefined) process.stdout.write(`${name}: ${required ? "failed" : "skipped"}: ${missing}\n`);
  return { missing, required };
}
