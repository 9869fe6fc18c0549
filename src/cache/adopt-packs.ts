import { createHash } from "node:crypto";
import { link, open, readFile, stat } from "node:fs/promises";
import { neverAborted } from "../base/index.ts";
import type { Generation, LocalPack, Pack } from "../storage/index.ts";
import type { ArtifactCache } from "./artifact-cache.ts";
import { artifactDigest } from "./artifact-digest.ts";

/**
 * Links a local pack under the names that `generation` gives it. The index is compared with its digest; the pack itself, which
 * may be large, only with its size and with the checksum that the index has of it.
 *
 * @returns false where the generation has no such pack.
 */
export async function adoptPack(artifacts: ArtifactCache, generation: Generation, local: LocalPack): Promise<boolean> {
  const index = await readFile(local.indexFile);
  const indexDigest = sha256(index);
  const pack = generation.packs.find((candidate) => artifactDigest(candidate.index.name) === indexDigest);
  if (!pack || !(await isPackOf(local.packFile, pack, index, generation.objectFormat === "sha1" ? 20 : 32))) return false;
  await artifacts.put(pack.pack, (path) => link(local.packFile, path), neverAborted);
  if (pack.reverseIndex && local.reverseIndexFile !== undefined) {
    const digest = sha256(await readFile(local.reverseIndexFile));
    const file = local.reverseIndexFile;
    if (digest === artifactDigest(pack.reverseIndex.name)) {
      await artifacts.put(pack.reverseIndex, (path) => link(file, path), neverAborted);
    }
  }
  await artifacts.put(pack.index, (path) => link(local.indexFile, path), neverAborted);
  return true;
}

/** An index ends with the checksum of its pack and its own; a pack ends with its checksum. */
async function isPackOf(packFile: string, pack: Pack, index: Uint8Array, checksumBytes: number): Promise<boolean> {
  const { size } = await stat(packFile);
  if (size !== pack.pack.sizeBytes || size < checksumBytes || index.length < 2 * checksumBytes) return false;
  await using file = await open(packFile, "r");
  const { buffer } = await file.read(Buffer.alloc(checksumBytes), 0, checksumBytes, size - checksumBytes);
  return buffer.equals(index.subarray(index.length - 2 * checksumBytes, index.length - checksumBytes));
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
