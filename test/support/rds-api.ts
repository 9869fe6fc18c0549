import { listenHttp } from "./stub-http.ts";

/** An instance as the API describes it, as far as it matters here. */
export interface RdsInstance {
  readonly id: string;
  /** Default "available". */
  readonly status?: string;
  /** Undefined while it is being made. */
  readonly endpoint?: { readonly host: string; readonly port: number };
  readonly replicaOf?: string;
  readonly cluster?: string;
}

/** A stub of the RDS API on loopback: form bodies in, XML out, as the service does it. */
export interface RdsApi extends AsyncDisposable {
  readonly url: string;
  /** The parameters of each request. */
  readonly asked: URLSearchParams[];
  instances: readonly RdsInstance[];
  /** Members of each cluster; the first writes. */
  clusters: Readonly<Record<string, readonly string[]>>;
  mode: "answer" | "throttle" | "silence" | "garbage";
  /** Instances in one answer. */
  pageSize: number;
}

export async function startRdsApi(): Promise<RdsApi> {
  const server = await listenHttp((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      if (api.mode === "silence") return;
      const asked = new URLSearchParams(body);
      api.asked.push(asked);
      const [status, text] = answerTo(api, asked);
      response.writeHead(status, { "content-type": "text/xml" }).end(text);
    });
  });
  const api: RdsApi = {
    url: server.url,
    asked: [],
    instances: [],
    clusters: {},
    mode: "answer",
    pageSize: 100,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return api;
}

function answerTo(api: RdsApi, asked: URLSearchParams): [status: number, text: string] {
  if (api.mode === "garbage") return [200, "<html>not what you asked for"];
  if (api.mode === "throttle") return error(400, "Throttling", "Rate exceeded");
  const action = asked.get("Action") ?? "";
  if (action === "DescribeDBClusters") return describeCluster(api, asked.get("DBClusterIdentifier") ?? "");
  const id = asked.get("DBInstanceIdentifier");
  const filter = asked.get("Filters.Filter.1.Name");
  const values = [...asked].filter(([key]) => key.startsWith("Filters.Filter.1.Values.")).map(([, value]) => value);
  const matching = api.instances.filter((one) => {
    if (id !== null) return one.id === id;
    if (filter === "db-cluster-id") return values.includes(one.cluster ?? "");
    return filter !== "db-instance-id" || values.includes(one.id);
  });
  if (id !== null && matching.length === 0) return error(404, "DBInstanceNotFound", `DBInstance ${id} not found.`);
  const from = Number(asked.get("Marker") ?? 0);
  const marker = from + api.pageSize < matching.length ? `<Marker>${from + api.pageSize}</Marker>` : "";
  const list = matching.slice(from, from + api.pageSize).map((one) => instanceXml(api, one));
  return result(action, `<DBInstances>${list.join("")}</DBInstances>${marker}`);
}

function describeCluster(api: RdsApi, id: string): [number, string] {
  const members = api.clusters[id];
  if (!members) return error(404, "DBClusterNotFoundFault", `DBCluster ${id} not found.`);
  const list = members.map(
    (member, i) =>
      `<DBClusterMember><DBInstanceIdentifier>${member}</DBInstanceIdentifier><IsClusterWriter>${i === 0}</IsClusterWriter>` +
      "<DBClusterParameterGroupStatus>in-sync</DBClusterParameterGroupStatus><PromotionTier>1</PromotionTier></DBClusterMember>",
  );
  const cluster =
    `<DBCluster><DBClusterIdentifier>${id}</DBClusterIdentifier><Status>available</Status><Engine>aurora-postgresql</Engine>` +
    `<Endpoint>${id}.cluster-x.eu-west-1.rds.amazonaws.com</Endpoint><Port>5432</Port><DBClusterMembers>${list.join("")}</DBClusterMembers></DBCluster>`;
  return result("DescribeDBClusters", `<DBClusters>${cluster}</DBClusters>`);
}

function instanceXml(api: RdsApi, { id, status = "available", endpoint, replicaOf, cluster }: RdsInstance): string {
  const replicas = api.instances
    .filter((one) => one.replicaOf === id)
    .map((one) => `<ReadReplicaDBInstanceIdentifier>${one.id}</ReadReplicaDBInstanceIdentifier>`);
  return [
    `<DBInstance><DBInstanceIdentifier>${id}</DBInstanceIdentifier><DBInstanceStatus>${status}</DBInstanceStatus><Engine>postgres</Engine>`,
    endpoint ? `<Endpoint><Address>${endpoint.host}</Address><Port>${endpoint.port}</Port><HostedZoneId>Z1</HostedZoneId></Endpoint>` : "",
    `<ReadReplicaDBInstanceIdentifiers>${replicas.join("")}</ReadReplicaDBInstanceIdentifiers>`,
    replicaOf ? `<ReadReplicaSourceDBInstanceIdentifier>${replicaOf}</ReadReplicaSourceDBInstanceIdentifier>` : "",
    cluster ? `<DBClusterIdentifier>${cluster}</DBClusterIdentifier>` : "",
    "<MultiAZ>false</MultiAZ></DBInstance>",
  ].join("");
}

function result(action: string, inner: string): [number, string] {
  const metadata = "<ResponseMetadata><RequestId>00000000-0000-0000-0000-000000000000</RequestId></ResponseMetadata>";
  return [
    200,
    `<${action}Response xmlns="http://rds.amazonaws.com/doc/2014-10-31/"><${action}Result>${inner}</${action}Result>${metadata}</${action}Response>`,
  ];
}

function error(status: number, code: string, message: string): [number, string] {
  return [
    status,
    `<ErrorResponse xmlns="http://rds.amazonaws.com/doc/2014-10-31/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>0</RequestId></ErrorResponse>`,
  ];
}
