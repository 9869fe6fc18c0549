import { join } from "node:path";
import { z } from "zod";
import { CodedError } from "../base/index.ts";
import { readFileIfExists, writeFileAtomic } from "./atomic-file.ts";

const isEmbedded = (url: string) => URL.canParse(url) && new URL(url).protocol === "file:" && new URL(url).host === "";

const schema = z
  .object({
    clusterId: z.string().regex(/^[0-9a-f]{32}$/),
    objectStorageUrl: z.string().refine((url) => URL.canParse(url)),
    objectStorageEmbedded: z.boolean(),
    databaseDirectory: z.string(),
    databaseUrls: z.array(z.string().refine((url) => URL.canParse(url))),
    replicas: z.number().int().min(1),
    hashSeed: z.string().regex(/^\d{1,20}$/),
  })
  .refine(({ objectStorageEmbedded, objectStorageUrl }) => !objectStorageEmbedded || isEmbedded(objectStorageUrl), {
    path: ["objectStorageUrl"],
  });

/** What a member told this node about its cluster; without secrets. */
export type ClusterFacts = z.infer<typeof schema>;

/** Takes from a member's answer what belongs here, and nothing that is not as agreed. Errors: `protocol_error`. */
export function clusterFactsOf(answer: Readonly<Record<keyof ClusterFacts, unknown>>): ClusterFacts {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  const wrong = [...new Set(parsed.error.issues.map(({ path }) => path.join(".")))].join(", ");
  throw new CodedError("protocol_error", "a member's answer to a joiner is malformed", { wrong });
}

/** Reads `<data dir>/cluster.json`: what a joiner was told, so that later starts need no peer. Errors: `bad_config`. */
export function readClusterFile(dataDir: string): ClusterFacts | undefined {
  const file = join(dataDir, "cluster.json");
  const text = readFileIfExists(file);
  if (text === undefined) return undefined;
  const parsed = schema.safeParse(parseJson(text));
  if (!parsed.success) throw new CodedError("bad_config", "cluster.json is damaged; remove it to ask the cluster again", { file });
  return parsed.data;
}

/** Keeps what a member answered. */
export function writeClusterFile(dataDir: string, facts: ClusterFacts): void {
  writeFileAtomic(join(dataDir, "cluster.json"), `${JSON.stringify(facts, null, 2)}\n`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
