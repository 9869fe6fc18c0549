import type { CliClient, Connect } from "../../src/cli/client.ts";
import type { Member__Output } from "../../src/proto/gen/gitaly_gossip/v1/Member.ts";
import type { RepositoryInfo__Output } from "../../src/proto/gen/gitaly_gossip/v1/RepositoryInfo.ts";
import type { StatusResponse__Output } from "../../src/proto/gen/gitaly_gossip/v1/StatusResponse.ts";

/** A member as a node tells of it. */
export function fakeMember(name: string, more: Partial<Member__Output> = {}): Member__Output {
  return {
    name,
    status: "ready",
    grpcAddress: `${name}:8075`,
    httpUrl: `http://${name}:8076`,
    gossipAddress: `${name}:7946`,
    weight: 1,
    zone: "",
    version: "1.2.3",
    grpcTls: false,
    ...more,
  };
}

/** A node's answer to Status. */
export function fakeStatus(node: string, more: Partial<StatusResponse__Output> = {}): StatusResponse__Output {
  return {
    node,
    clusterId: "c1",
    state: "ready",
    version: "1.2.3",
    gitVersion: "2.44.0",
    uptimeSeconds: "93784",
    ringFingerprint: "00000000000000aa",
    memberCount: 3,
    siteCount: 2,
    checks: [],
    objectStorage: "file:///d/objects",
    database: "embedded",
    cacheBytes: "1536",
    ...more,
  };
}

/** A repository as a node tells of it. */
export function fakeRepository(relativePath: string, more: Partial<RepositoryInfo__Output> = {}): RepositoryInfo__Output {
  return {
    relativePath,
    id: "r1",
    objectFormat: "sha1",
    defaultBranch: Buffer.from("main"),
    generation: "7",
    replicas: 1,
    sizeBytes: "2048",
    refs: "3",
    packs: "2",
    createdAtMs: "1",
    updatedAtMs: "2",
    ...more,
  };
}

/** What the nodes of a cluster answer; a call that is not given here is one that the test does not expect. */
export interface FakeCluster {
  readonly cluster?: Partial<CliClient["cluster"]>;
  readonly repository?: Partial<CliClient["repository"]>;
  /** Answers Status by the address that was dialled; default: `cluster.status`. */
  readonly statusAt?: (address: string, signal: AbortSignal) => Promise<StatusResponse__Output>;
}

/** Connects to a cluster that is not there. `dialled` gets every address. */
export function fakeConnect({ cluster = {}, repository = {}, statusAt }: FakeCluster, dialled: string[] = []): Connect {
  const unexpected = () => {
    throw new Error("the test does not expect this call");
  };
  return (address) => {
    dialled.push(address);
    return {
      cluster: {
        listMembers: unexpected,
        databaseStatus: unexpected,
        route: unexpected,
        getRepository: unexpected,
        listRepositories: unexpected,
        status: statusAt ? (_, { signal }) => statusAt(address, signal) : unexpected,
        ...cluster,
      },
      repository: { createRepository: unexpected, removeRepository: unexpected, ...repository },
      [Symbol.asyncDispose]: async () => {},
    };
  };
}
