import type { DBCluster, DBInstance, RDSClient } from "@aws-sdk/client-rds";
import { CodedError } from "../../base/index.ts";
import type { DiscoveredServer, DiscoveryAnswer, DiscoverySource } from "./source.ts";

type Sdk = typeof import("@aws-sdk/client-rds");

/** Servers that Amazon RDS runs. Credentials are found as the AWS SDK finds them. */
export interface RdsSourceOptions {
  /** Identifier of the source instance: it and its read replicas are the servers. */
  readonly instance?: string;
  /** Identifier of a cluster, Aurora or Multi-AZ: its members are the servers. Either this or `instance`. */
  readonly cluster?: string;
  /** Default: as the AWS SDK finds it. */
  readonly region?: string;
  /** URL of the API. Default: the region's. */
  readonly endpoint?: string;
}

/** Servers in another state answer nobody, or soon will not. */
const reachable: ReadonlySet<string> = new Set(["available", "backing-up", "modifying", "storage-optimization"]);
/** As many as one filter of the API takes. */
const maxFilterValues = 100;
const maxPages = 16;

/**
 * Asks the RDS API for the servers of an instance or a cluster. The roles are hints: during a failover its answers trail the
 * servers. Replicas in other regions are not seen. It needs the right to `rds:DescribeDBInstances`, and `rds:DescribeDBClusters` for a cluster.
 */
export class RdsSource implements DiscoverySource {
  readonly name = "rds";
  readonly #options: RdsSourceOptions;
  #client: Promise<{ sdk: Sdk; client: RDSClient }> | undefined;

  constructor(options: RdsSourceOptions) {
    if ((options.instance === undefined) === (options.cluster === undefined)) {
      throw new CodedError("bad_config", "RDS needs the identifier of an instance or of a cluster", { key: "discovery.instance" });
    }
    this.#options = options;
  }

  async lookup(signal: AbortSignal): Promise<DiscoveryAnswer> {
    signal.throwIfAborted();
    const { instance, cluster } = this.#options;
    try {
      return {
        servers: instance === undefined ? await this.#ofCluster(cluster as string, signal) : await this.#ofInstance(instance, signal),
      };
    } catch (error) {
      // The SDK has an error of its own for this, which does not say why.
      signal.throwIfAborted();
      throw error;
    }
  }

  async #ofInstance(identifier: string, signal: AbortSignal): Promise<DiscoveredServer[]> {
    const [source] = await this.#instances({ DBInstanceIdentifier: identifier }, signal);
    if (!source) throw new CodedError("not_found", "RDS knows no such instance", { instance: identifier });
    const replicas = (source.ReadReplicaDBInstanceIdentifiers ?? []).slice(0, maxFilterValues);
    const found = replicas.length > 0 ? await this.#instances({ Filters: [{ Name: "db-instance-id", Values: replicas }] }, signal) : [];
    return [
      ...serverOf(source, source.ReadReplicaSourceDBInstanceIdentifier === undefined ? "primary" : "replica"),
      ...found.flatMap((replica) => serverOf(replica, "replica")),
    ];
  }

  async #ofCluster(identifier: string, signal: AbortSignal): Promise<DiscoveredServer[]> {
    const { sdk, client } = await this.#connected();
    const command = new sdk.DescribeDBClustersCommand({ DBClusterIdentifier: identifier });
    const answer = await client.send(command, { abortSignal: signal });
    const [cluster] = answer.DBClusters ?? [];
    if (!cluster) throw new CodedError("not_found", "RDS knows no such cluster", { cluster: identifier });
    const members = await this.#instances({ Filters: [{ Name: "db-cluster-id", Values: [identifier] }] }, signal);
    return members.flatMap((member) => serverOf(member, roleIn(cluster, member)));
  }

  async #instances(
    request: { DBInstanceIdentifier?: string; Filters?: { Name: string; Values: string[] }[] },
    signal: AbortSignal,
  ): Promise<DBInstance[]> {
    const { sdk, client } = await this.#connected();
    const found: DBInstance[] = [];
    let marker: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const command = new sdk.DescribeDBInstancesCommand({ ...request, ...(marker === undefined ? {} : { Marker: marker }) });
      const answer = await client.send(command, { abortSignal: signal });
      found.push(...(answer.DBInstances ?? []));
      marker = answer.Marker;
      if (marker === undefined) return found;
    }
    throw new CodedError("limit_exceeded", "RDS answers in too many pages", { maxPages });
  }

  #connected(): Promise<{ sdk: Sdk; client: RDSClient }> {
    this.#client ??= connect(this.#options).catch((error) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }
}

async function connect({ region, endpoint }: RdsSourceOptions): Promise<{ sdk: Sdk; client: RDSClient }> {
  // The SDK prints a warning about older Node versions from its constructor; what it needs of Node is pinned with its version.
  process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] = "true";
  let sdk: Sdk;
  try {
    sdk = await import("@aws-sdk/client-rds");
  } catch (error) {
    throw new CodedError(
      "bad_config",
      "discovery from RDS needs the package @aws-sdk/client-rds",
      { key: "discovery.source" },
      { cause: error },
    );
  }
  const client = new sdk.RDSClient({
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    // How often and when it is asked again is decided where the whole of it is known.
    maxAttempts: 1,
    // Questions are far apart: a connection kept between them would only keep the process alive.
    requestHandler: { connectionTimeout: 2000, httpAgent: { keepAlive: false }, httpsAgent: { keepAlive: false } },
  });
  return { sdk, client };
}

function serverOf(instance: DBInstance, role: DiscoveredServer["role"]): DiscoveredServer[] {
  const { DBInstanceIdentifier: name, DBInstanceStatus: status = "", Endpoint: at } = instance;
  if (!at?.Address || at.Port === undefined) return [];
  if (!reachable.has(status) && !status.startsWith("configuring-")) return [];
  return [{ host: at.Address, port: at.Port, ...(role ? { role } : {}), ...(name === undefined ? {} : { name }) }];
}

function roleIn(cluster: DBCluster, instance: DBInstance): DiscoveredServer["role"] {
  const member = cluster.DBClusterMembers?.find((one) => one.DBInstanceIdentifier === instance.DBInstanceIdentifier);
  if (member?.IsClusterWriter === undefined) return undefined;
  return member.IsClusterWriter ? "primary" : "replica";
}
