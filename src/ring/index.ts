export { Ring, type RingOptions, ringHashVersion, type ScoredSite, type Site } from "./ring.ts";
export { xxh3 } from "./xxh3.ts";
